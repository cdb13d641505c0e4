# Everything that contributors run. It requires go, make, git and, for the race detector, a C compiler. Nothing is installed.

.DEFAULT_GOAL := help
# go already uses all cores, and progress messages do not interleave.
.NOTPARALLEL:

# The control plane is built without cgo. If everything is, packages that programs have in common are compiled once.
export CGO_ENABLED := 0

PARTS := etcd kube-apiserver kube-controller-manager kubectl
SEQUENCES ?= 200
# 0 selects a new seed for each run. The seed is printed.
SEED ?= 0
# The installed kind, or else one that is built. It requires docker.
KIND ?= $(or $(shell command -v kind),bin/kind)
ARCH = $(shell go env GOARCH)
# Twelve digits of a commit: by default, git uses more or fewer depending on the clone, so the same commit would have different
# versions and images.
VERSION = $(shell git describe --tags --always --dirty --abbrev=12 2>/dev/null || echo unknown)
IMAGE ?= ghcr.io/ownership-handoff/handoff-webhook
PLATFORMS ?= linux/amd64,linux/arm64
comma := ,
PLUGIN_PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64

# KUBERNETES=1.30 builds and uses a control plane of another version than the newest, which is that of
# test/controlplane/parts/go.mod. test/controlplane/require.sh adds a version.
NEWEST := $(shell sed -n 's|^	k8s.io/kubernetes v\(1[.][0-9]*\)[.].*|\1|p' test/controlplane/parts/go.mod)
OLDER := $(patsubst test/controlplane/versions/%/go.mod,%,$(wildcard test/controlplane/versions/*/go.mod))
KUBERNETES ?= $(NEWEST)
controlplane-folder = bin/controlplane$(addprefix -,$(filter-out $(NEWEST),$1))

# CONTROLPLANE_BIN=DIR uses the control plane's four binaries in DIR instead of building them.
ifdef CONTROLPLANE_BIN
CONTROLPLANE := $(PARTS:%=have-%)
else
CONTROLPLANE := $(PARTS:%=$(call controlplane-folder,$(KUBERNETES))/%)
endif
override CONTROLPLANE_BIN := $(abspath $(or $(CONTROLPLANE_BIN),$(call controlplane-folder,$(KUBERNETES))))
export CONTROLPLANE_BIN

.PHONY: help
help:
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

.PHONY: controlplane
controlplane: $(CONTROLPLANE) ## build a real control plane for the tests (about five minutes the first time): KUBERNETES=1.30

bin/controlplane/%:
	@sh test/controlplane/build.sh $@

bin/controlplane-%:
	@sh test/controlplane/build.sh $@

# One etcd for all versions, as etcd is upgraded apart from Kubernetes.
bin/controlplane-%/etcd: bin/controlplane/etcd
	@mkdir -p $(@D) && cp $< $@

.PHONY: $(PARTS:%=have-%)
$(PARTS:%=have-%): have-%:
	@test -x '$(CONTROLPLANE_BIN)/$*' || { echo 'CONTROLPLANE_BIN: no executable $(CONTROLPLANE_BIN)/$*' >&2; exit 1; }

.PHONY: build
build: ## build the webhook, bin/handoff-webhook, and the kubectl plugin, bin/kubectl-handoff, with its shell completion
	go build -ldflags '-X main.version=$(VERSION)' -o bin/handoff-webhook ./cmd/handoff-webhook
	go build -ldflags '-s -w -X main.version=$(VERSION)' -o bin/kubectl-handoff ./cmd/kubectl-handoff
	cp manifests/krew/kubectl_complete-handoff bin/

# bin/release-tool --help describes the output and how to verify the digests. PUSH=yes needs the credentials of docker login.
.PHONY: image
image: bin/release-tool ## build the image, bin/image and bin/image-amd64.tar: VERSION=TAG IMAGE=NAME PLATFORMS=linux/amd64,... PUSH=yes
	bin/release-tool image --image='$(IMAGE)' --version='$(VERSION)' --image-platforms='$(PLATFORMS)' $(if $(PUSH),--push)

# bin/release-tool --help describes the files. CHECK=yes builds clones of the last commit instead, and checks that the image is
# static and not root, that the release and the image are reproducible and complete, and that changes to a release are found.
.PHONY: release
ifdef CHECK
release: bin/helm
	go vet -C hack ./...
	go test -C hack -count=1 -timeout 1h ./...
else
release: bin/release-tool ## build all files of a release, bin/release/VERSION: VERSION=v0.1.0 CHECK=yes
	bin/release-tool build --version='$(VERSION)' --image='$(IMAGE)' --image-platforms='$(PLATFORMS)' \
		--plugin-platforms='$(subst $(empty) $(empty),$(comma),$(PLUGIN_PLATFORMS))'
	bin/release-tool verify 'bin/release/$(VERSION)'
endif

bin/release-tool: $(wildcard hack/release/*.go) hack/go.mod
	go build -C hack -o ../$@ ./release

# Helm 3, kind and the controllers of cert-manager, for the tests. All of them share test/programs/go.mod with three clients.
bin/helm: test/programs/go.mod
	@echo 'helm: building Helm 3, which takes a few minutes the first time'
	go build -C test/programs -o ../../$@ helm.sh/helm/v3/cmd/helm

bin/kind: test/programs/go.mod
	go build -C test/programs -o ../../$@ sigs.k8s.io/kind

bin/certmanager: $(wildcard test/programs/certmanager/*.go) test/programs/go.mod
	@echo 'certmanager: building the controllers of cert-manager, which takes a few minutes the first time'
	go build -C test/programs -o ../../$@ ./certmanager
	cat "$$(go list -C test/programs -m -f '{{.Dir}}' github.com/cert-manager/cert-manager)"/deploy/crds/*.yaml >$@-crds.yaml

# The clients that test/clients plays. Those in CLIENTS_CI are part of make test.
CLIENTS_CI := helm4 flux
CLIENTS := $(CLIENTS_CI) terraform-provider-helm_v3.0.2_x5 rollouts-controller keda-operator argocd
FOLDER_rollouts-controller := clients/rollouts
FOLDER_keda-operator := clients/keda
FOLDER_argocd := clients/argocd
MAIN_helm4 := helm.sh/helm/v4/cmd/helm
MAIN_flux := ./flux
MAIN_terraform-provider-helm_v3.0.2_x5 := ./helmlibrary
MAIN_rollouts-controller := github.com/argoproj/argo-rollouts/cmd/rollouts-controller
MAIN_keda-operator := github.com/kedacore/keda/v2/cmd/operator
CRDS_rollouts-controller := github.com/argoproj/argo-rollouts manifests/crds/*-crd.yaml
CRDS_keda-operator := github.com/kedacore/keda/v2 config/crd/bases/*.yaml
CRDS_argocd := github.com/argoproj/argo-cd/v3 manifests/crds/*-crd.yaml
client-folder = test/$(or $(FOLDER_$1),programs)

.SECONDEXPANSION:
bin/clients/%: $$(wildcard $$(call client-folder,$$*)/*.go $$(call client-folder,$$*)/*/*.go) $$(call client-folder,$$*)/go.mod
	@sh test/clients/build.sh $@ $(call client-folder,$*) $(or $(MAIN_$*),.) $(CRDS_$*:%='%')

# UPDATE=yes also writes docs/clients.md. The first run builds the clients, which takes about half an hour.
.PHONY: e2e-clients
e2e-clients: controlplane bin/helm bin/certmanager build $(CLIENTS:%=bin/clients/%) ## play the real clients with and without handoff, and print the results: UPDATE=yes
	go test -C test/clients -count=1 -timeout 1h -parallel 4 -args -all $(if $(UPDATE),-update)
	E2E_CERTMANAGER='$(abspath bin/certmanager)' go test ./test/e2e -count=1 -timeout 20m -run '^TestTheInjectorsBundlesAreNeverLost$$'

# Without vet, which make lint runs: without a cache, it also vets all modules that the tests import.
.PHONY: test
test: controlplane bin/helm build $(CLIENTS_CI:%=bin/clients/%) ## run all tests, many of them against a real control plane: KUBERNETES=1.30
	go test -vet=off -timeout 45m -parallel 8 -skip 'Linear|PeakMemory|ScaleFieldAlone' ./...
	go test -vet=off -timeout 20m -run 'Linear|PeakMemory|ScaleFieldAlone' ./webhook ./internal/jsontree ./plugin/cli ./plugin/release ./merge/schema ./merge/threeway ./merge/twoway

# The packages that answer requests concurrently, with what they call. What test/ runs are processes, built without the race detector.
# It takes as long to compile as half of the tests to run, so it is a job of its own in the workflow ci.
.PHONY: race
race:
	CGO_ENABLED=1 go test -race -timeout 30m ./cmd/... ./internal/... ./webhook/...

# SERVER:KUBECTL is a control plane with the kubectl of another version.
VERSIONS ?= $(OLDER) $(NEWEST)
TWO_BEFORE := 1.$(shell expr $(NEWEST:1.%=%) - 2)
SKEWS ?= $(TWO_BEFORE):$(NEWEST) $(NEWEST):$(TWO_BEFORE)
servers = $(foreach v,$1,$(PARTS:%=$(call controlplane-folder,$(firstword $(subst :, ,$v)))/%))
kubectls = $(foreach v,$1,$(call controlplane-folder,$(lastword $(subst :, ,$v)))/kubectl)

.PHONY: e2e-versions
e2e-versions: $(sort $(call servers,$(VERSIONS)) $(call kubectls,$(VERSIONS))) bin/helm build ## run the tests on each version of Kubernetes: VERSIONS="1.30 1.36 1.36:1.34" RUN=PATTERN
	RUN="$(RUN)" sh test/versions/run.sh $(VERSIONS)

# For the matrix of the continuous integration.
.PHONY: list-versions
list-versions:
	@printf '%s\n' $(VERSIONS) $(SKEWS)

# The tests that run on the oldest version for each change: the rows of the decision table, for the scalers, the units and the
# meanings of zero as well, the oracle, Helm 3, the match conditions, and whether the API server accepts the manifests. INSTALLED are
# those that run on kind, where the installation is what matters. e2e-versions and e2e-kind SUITE=all run all tests.
OLDEST := $(firstword $(OLDER))
DECISIONS := Row TheOracle Helm3 MatchConditions ThreeMeanings ReplicasLeftEmpty Scenarios ScalersOwn AScaler \
	AppliersAre ACustomResource TheAPIServerAccepts
INSTALLED := RowsOfTheDecisionTable Helm3 MatchConditions
empty :=
either = ^Test($(subst $(empty) $(empty),|,$(strip $1)))
.PHONY: e2e-oldest
e2e-oldest: $(call servers,$(OLDEST)) bin/helm build ## run the tests of the decisions on the oldest version of Kubernetes
	CONTROLPLANE_BIN=$(abspath $(call controlplane-folder,$(OLDEST))) \
		go test -count=1 -timeout 20m -parallel 8 -run '$(call either,$(DECISIONS))' ./test/e2e ./test/sequences ./test/manifests

# The versions before and after the upgrade. Kubernetes supports API servers that are one minor version apart.
FROM ?= $(lastword $(OLDER))
TO ?= $(NEWEST)
.PHONY: e2e-upgrade
e2e-upgrade: $(sort $(call servers,$(FROM) $(TO))) bin/helm build ## upgrade and downgrade one of two API servers during applies: FROM=1.35 TO=1.36
	CONTROLPLANE_BIN=$(abspath $(call controlplane-folder,$(FROM))) go test -count=1 -timeout 30m -v -run '^TestSoak$$' ./test/soak -args -broken=0 \
		-length=1m -faults='an API server upgraded' -other-apiserver=$(abspath $(call controlplane-folder,$(TO)))/kube-apiserver

# A failure prints the seed. SEED repeats the same sequences. A run without failures goes on where the last one has ended, and adds to
# the sum in bin/sequences.json; FIRST=0 begins again.
.PHONY: sequences
sequences: controlplane build ## compare generated sequences of writes with the decision table, and with the same writes without handoff: SEQUENCES=200 FIRST=N SEED=N
	go test -count=1 -timeout 4h -v -run '^TestWrites' ./test/sequences -args -sequences=$(SEQUENCES) -first=$(or $(FIRST),-1) -seed=$(SEED) \
		-totals=$(abspath bin/sequences.json)

# Runs all fuzz targets, each for FUZZTIME, and adds up the inputs of all runs. The corpus is bin/fuzz/corpus.
FUZZTIME ?= 5m
.PHONY: fuzz-long
fuzz-long:
	sh test/oss-fuzz/fuzz.sh '$(FUZZTIME)'

# Changes each comparison and each calculation of ownership and merge, one at a time, and fails if the tests do not notice 5 % of these
# mutants, or one that test/mutants/survivors.txt does not explain. Takes hours, and requires node.
GREMLINS := github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0
.PHONY: mutants
mutants: bin/mutants/ownership.json bin/mutants/merge.json
	node test/mutants/run.mjs $^

# Without go vet, so that nothing but tests kills a mutant, and without the cache of results: gremlins limits the time by that of a run.
bin/mutants/%.json: $$(wildcard $$*/*.go $$*/*/*.go)
	@mkdir -p $(@D)
	ulimit -v 8000000 && GOFLAGS="-vet=off -count=1" go run $(GREMLINS) unleash --timeout-coefficient 10 --output $@ ./$*

# docs/reliability.md describes it. go test -v ./test/soak -args -help lists more sizes. OTHER is the commit between which and this one
# the webhook is upgraded and downgraded.
DURATION ?= 10m
NAMESPACES ?= 12
.PHONY: soak
soak: controlplane bin/helm build $(if $(OTHER),bin/other/$(OTHER)) ## break one part of a cluster after the other while clients write, and check every write: DURATION=24h NAMESPACES=50 THINK=500ms FAULTS=NAME,NAME
	go test -count=1 -timeout 0 -v -run '^TestSoak$$' ./test/soak -args -duration=$(DURATION) -namespaces=$(NAMESPACES) $(if $(THINK),-think=$(THINK)) $(if $(FAULTS),-faults='$(FAULTS)') $(if $(OTHER),-other='$(CURDIR)/bin/other/$(OTHER)')

bin/other/%:
	@rm -rf bin/other/source && mkdir -p bin/other/source && git archive $* | tar -x -C bin/other/source
	cd bin/other/source && go build -ldflags='-X main.version=v0.0.0-$*' -o '$(CURDIR)/$@' ./cmd/handoff-webhook
	@rm -rf bin/other/source

# RELEASES=yes installs two releases of this commit, upgrades, downgrades and upgrades them again, without anything else of this
# repository.
.PHONY: e2e-kind
e2e-kind: controlplane bin/helm build bin/release-tool bin/certmanager $(KIND) ## test each way to install on a kind cluster, with docker: KIND_NODE_IMAGE=IMAGE WAYS=chart SUITE=all KEEP=yes RELEASES=yes
ifdef RELEASES
	@rm -rf bin/e2e-kind
	@for version in v0.1.0 v0.2.0; do bin/release-tool build --version=$$version --output=bin/e2e-kind/$$version \
		--image-platforms=linux/$(ARCH) --plugin-platforms=linux/$(ARCH) && bin/release-tool verify bin/e2e-kind/$$version || exit 1; done
	go run ./test/kind --kind='$(KIND)' --version=v0.1.0 --next=v0.2.0 --ways=release,release-chart --releases=bin/e2e-kind \
		--archives=bin/e2e-kind/v0.1.0/handoff-webhook-v0.1.0-linux-$(ARCH).tar,bin/e2e-kind/v0.2.0/handoff-webhook-v0.2.0-linux-$(ARCH).tar $(if $(KEEP),--keep)
else
	@bin/release-tool image --image-platforms=linux/$(ARCH) --image='$(IMAGE)' --version='$(VERSION)' --output=bin/e2e-kind/this
	@bin/release-tool image --image-platforms=linux/$(ARCH) --image='$(IMAGE)' --version='$(VERSION)-next' --output=bin/e2e-kind/next
	go run ./test/kind --kind='$(KIND)' --image='$(IMAGE)' --version='$(VERSION)' --next='$(VERSION)-next' \
		--archives=bin/e2e-kind/this-$(ARCH).tar,bin/e2e-kind/next-$(ARCH).tar $(if $(KEEP),--keep) $(if $(WAYS),--ways=$(WAYS)) \
		$(if $(filter all,$(SUITE)),,--tests='$(call either,$(INSTALLED))')
endif

.PHONY: demo
demo: controlplane build ## show the problem and the fix on a real control plane
	go run ./test/demo

.PHONY: run
run: controlplane build ## start a control plane with the webhook to experiment with
	@go build -o bin/run ./test/run
	@bin/run

# BASE=main compares the benchmarks of the handler with those of another commit instead, in COUNT=6 rounds.
.PHONY: bench
ifdef BASE
bench:
	sh test/bench/compare.sh '$(BASE)' ./webhook '^BenchmarkHandler$$' '$(or $(COUNT),6)'
else
bench: controlplane build ## measure the costs beside a constant patch (about 10 minutes): BENCH=latency,load BASE=main
	go run ./test/bench -version='$(VERSION)' $(if $(BENCH),-part='$(BENCH)')
	go test ./webhook/cluster -count=1 -v -run '^TestAnAutoscalerTakesAtMostOneKilobyte$$'
endif

.PHONY: lint
lint: bin/golangci-lint bin/actionlint ## run golangci-lint and, on the workflows, actionlint
	bin/golangci-lint run ./...
	cd hack && ../bin/golangci-lint run ./...
	bin/actionlint

bin/golangci-lint: hack/go.mod
	@echo 'lint: building golangci-lint, which takes a few minutes the first time'
	go build -C hack -o ../$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

bin/actionlint: hack/go.mod
	go build -C hack -o ../$@ github.com/rhysd/actionlint/cmd/actionlint
