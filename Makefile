# Everything that contributors run. It requires go, make, git and, for the race detector, a C compiler. Nothing is installed.

.DEFAULT_GOAL := help
# go already uses all cores, and progress messages do not interleave.
.NOTPARALLEL:

# The control plane is built without cgo. If everything is, packages that programs have in common are compiled once.
export CGO_ENABLED := 0

PARTS := etcd kube-apiserver kube-controller-manager kubectl
FUZZTIME ?= 30s
SEQUENCES ?= 2000
GENERATE ?= 1000
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
help: ## list the targets
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
build: ## build the webhook, bin/handoff-webhook
	go build -ldflags '-X main.version=$(VERSION)' -o bin/handoff-webhook ./cmd/handoff-webhook

.PHONY: plugin
plugin: ## build the kubectl plugin, bin/kubectl-handoff, and its shell completion
	go build -ldflags '-s -w -X main.version=$(VERSION)' -o bin/kubectl-handoff ./cmd/kubectl-handoff
	cp manifests/krew/kubectl_complete-handoff bin/

.PHONY: plugin-krew
plugin-krew: ## build the plugin's archives for krew, bin/plugin: VERSION=TAG PLUGIN_PLATFORMS="linux/amd64 ..."
	sh hack/krew-archives.sh bin/plugin '$(VERSION)' $(PLUGIN_PLATFORMS)

# bin/build-image --help describes the output and how to verify the digests.
.PHONY: image
image: bin/build-image ## build the image, bin/image and bin/image-amd64.tar: VERSION=TAG IMAGE=NAME PLATFORMS=linux/amd64,...
	bin/build-image --repository='$(IMAGE)' --version='$(VERSION)' --platforms='$(PLATFORMS)'

.PHONY: push
push: bin/build-image ## build the image and push it to IMAGE with the credentials of docker login
	bin/build-image --repository='$(IMAGE)' --version='$(VERSION)' --platforms='$(PLATFORMS)' --push

.PHONY: image-check
image-check: ## check that the image of the last commit is reproducible, static and not root
	cd hack/image && go vet ./... && go test -count=1 -timeout 30m ./...

bin/build-image: $(wildcard hack/image/*.go hack/image/go.*)
	go build -C hack/image -o ../../$@ .

# bin/release-tool --help describes the files.
.PHONY: release
release: bin/release-tool bin/build-image ## build all files of a release, bin/release/VERSION: VERSION=v0.1.0
	bin/release-tool build --version='$(VERSION)' --image='$(IMAGE)' --image-platforms='$(PLATFORMS)' \
		--plugin-platforms='$(subst $(empty) $(empty),$(comma),$(PLUGIN_PLATFORMS))'
	bin/release-tool verify 'bin/release/$(VERSION)'

.PHONY: release-check
release-check: helm bin/build-image ## check that a release of the last commit is reproducible and complete, and that changes to it are found
	cd hack/release && go vet ./... && go test -count=1 -timeout 30m ./...

bin/release-tool: $(wildcard hack/release/*.go hack/release/go.*)
	go build -C hack/release -o ../../$@ .

.PHONY: helm
helm: bin/helm ## build Helm 3 for the tests

bin/helm: test/helm/go.mod
	@echo 'helm: building Helm 3, which takes a few minutes the first time'
	go build -C test/helm -o ../../$@ helm.sh/helm/v3/cmd/helm

# The clients that test/clients plays, each built from its own go.mod. Those in CLIENTS_CI are part of make test.
CLIENTS_CI := helm4 flux
CLIENTS := $(CLIENTS_CI) terraform-provider-helm_v3.0.2_x5 rollouts-controller keda-operator argocd
FOLDER_terraform-provider-helm_v3.0.2_x5 := helmlibrary
FOLDER_rollouts-controller := rollouts
FOLDER_keda-operator := keda
MAIN_helm4 := helm.sh/helm/v4/cmd/helm
MAIN_rollouts-controller := github.com/argoproj/argo-rollouts/cmd/rollouts-controller
MAIN_keda-operator := github.com/kedacore/keda/v2/cmd/operator
CRDS_rollouts-controller := github.com/argoproj/argo-rollouts manifests/crds/*-crd.yaml
CRDS_keda-operator := github.com/kedacore/keda/v2 config/crd/bases/*.yaml
CRDS_argocd := github.com/argoproj/argo-cd/v3 manifests/crds/*-crd.yaml
client-folder = test/clients/$(or $(FOLDER_$1),$1)

# Downloads what all clients need while the first ones are built: go downloads before it compiles.
.PHONY: fetch-clients
fetch-clients:
	@$(foreach c,$(filter-out $(wildcard bin/clients/*),$(CLIENTS:%=bin/clients/%)),go list -C $(call client-folder,$(notdir $c)) -deps \
		$(or $(MAIN_$(notdir $c)),.) >/dev/null 2>&1 & ):

.PHONY: clients
clients: $(CLIENTS:%=bin/clients/%) ## build the clients that make e2e-clients plays (about half an hour the first time)

.SECONDEXPANSION:
bin/clients/%: $$(wildcard $$(call client-folder,$$*)/*.go) $$(call client-folder,$$*)/go.mod
	@sh test/clients/build.sh $@ $(call client-folder,$*) $(or $(MAIN_$*),.) $(CRDS_$*:%='%')

# UPDATE=yes also writes docs/clients.md.
.PHONY: e2e-clients
e2e-clients: fetch-clients controlplane helm build clients ## play the real clients with and without handoff, and print the results: UPDATE=yes
	go test -C test/clients -count=1 -timeout 1h -parallel 8 -args -all $(if $(UPDATE),-update)

.PHONY: test
test: controlplane helm build $(CLIENTS_CI:%=bin/clients/%) ## run vet and all tests, many of them against a real control plane: KUBERNETES=1.30
	go vet ./...
	CGO_ENABLED=1 go test -race -timeout 30m -parallel 8 ./...
	go test -timeout 20m -run 'Linear|PeakMemory|AllocatesLittle' ./webhook ./plugin/cli ./plugin/release
	cd test/bench/plot && go vet ./... && go test ./...

.PHONY: monitoring-check
monitoring-check: ## test the alerts and the dashboard with Prometheus' own parser and rule evaluation
	go vet -C test/monitoring ./...
	go test -C test/monitoring -count=1 ./...

# SERVER:KUBECTL is a control plane with the kubectl of another version.
VERSIONS ?= $(OLDER) $(NEWEST)
TWO_BEFORE := 1.$(shell expr $(NEWEST:1.%=%) - 2)
SKEWS ?= $(TWO_BEFORE):$(NEWEST) $(NEWEST):$(TWO_BEFORE)
servers = $(foreach v,$1,$(PARTS:%=$(call controlplane-folder,$(firstword $(subst :, ,$v)))/%))
kubectls = $(foreach v,$1,$(call controlplane-folder,$(lastword $(subst :, ,$v)))/kubectl)

.PHONY: e2e-versions
e2e-versions: $(sort $(call servers,$(VERSIONS)) $(call kubectls,$(VERSIONS))) helm build ## run the tests on each version of Kubernetes: VERSIONS="1.30 1.36" UPDATE=yes FAILED=yes
	go run ./test/versions $(if $(UPDATE),--update) $(if $(FAILED),--failed) $(VERSIONS)

.PHONY: list-versions
list-versions: ## print the versions that e2e-versions and e2e-skew run, one a line
	@printf '%s\n' $(VERSIONS) $(SKEWS)

.PHONY: e2e-skew
e2e-skew: ## run the tests with a kubectl two minor versions older and newer than the server: SKEWS="1.34:1.36 1.36:1.34"
	@$(MAKE) --no-print-directory e2e-versions VERSIONS='$(SKEWS)'

# The tests that run on the oldest version for each change: the rows of the decision table, server-side apply, the oracle, Helm 3,
# matchConditions, and whether the API server accepts the manifests. e2e-versions runs all tests.
OLDEST := $(firstword $(OLDER))
OLDEST_TESTS := ^Test(Row|ServerSideApplyRow|TheOracle|Helm3|MatchConditions|ThreeMeanings|TheAPIServerAcceptsAllManifests)
.PHONY: e2e-oldest
e2e-oldest: $(call servers,$(OLDEST)) helm build ## run the tests of the decisions on the oldest version of Kubernetes
	CONTROLPLANE_BIN=$(abspath $(call controlplane-folder,$(OLDEST))) \
		go test -count=1 -timeout 20m -parallel 8 -run '$(OLDEST_TESTS)' ./test/e2e ./test/manifests

# The versions before and after the upgrade. Kubernetes supports API servers that are one minor version apart.
FROM ?= $(lastword $(OLDER))
TO ?= $(NEWEST)
.PHONY: e2e-upgrade
e2e-upgrade: $(sort $(call servers,$(FROM) $(TO))) build ## upgrade a control plane during applies, with two API servers of different versions: FROM=1.35 TO=1.36
	UPGRADE_FROM=$(abspath $(call controlplane-folder,$(FROM))) UPGRADE_TO=$(abspath $(call controlplane-folder,$(TO))) \
		go test -count=1 -timeout 20m -v ./test/upgrade

# A failure prints the seed. SEED repeats the same sequences.
.PHONY: accepted
accepted: controlplane build ## compare generated applies with the same applies without handoff: SEQUENCES=2000 SEED=N
	go test -count=1 -timeout 2h ./test/accepted -sequences=$(SEQUENCES) -seed=$(SEED)

.PHONY: generate
generate: controlplane ## generate 1,000 releases and 1,000 previews on a real control plane: GENERATE=1000 SEED=N
	go test ./test/plugin -count=1 -timeout 4h -v -run '^TestGenerated' -args -releases=$(GENERATE) -previews=$(GENERATE) -seed=$(SEED)

.PHONY: e2e-kind
e2e-kind: controlplane helm build bin/build-image bin/certmanager $(KIND) ## test each way to install on a kind cluster: KIND_NODE_IMAGE=IMAGE KEEP=yes
	@bin/build-image --platforms=linux/$(ARCH) --repository='$(IMAGE)' --version='$(VERSION)' --output=bin/e2e-kind/this
	@bin/build-image --platforms=linux/$(ARCH) --repository='$(IMAGE)' --version='$(VERSION)-next' --output=bin/e2e-kind/next
	go run ./test/kind --kind='$(KIND)' --image='$(IMAGE)' --version='$(VERSION)' --next='$(VERSION)-next' \
		--archives=bin/e2e-kind/this-$(ARCH).tar,bin/e2e-kind/next-$(ARCH).tar $(if $(KEEP),--keep) $(if $(WAYS),--ways=$(WAYS))

# Two releases of this commit, from which handoff is installed, upgraded, downgraded and upgraded again, without anything else of
# this repository.
.PHONY: release-kind
release-kind: controlplane helm bin/release-tool bin/build-image bin/certmanager $(KIND) ## test two releases on a kind cluster: install, upgrade, downgrade
	@rm -rf bin/release-kind
	@for version in v0.1.0 v0.2.0; do bin/release-tool build --version=$$version --output=bin/release-kind/$$version \
		--image-platforms=linux/$(ARCH) --plugin-platforms=linux/$(ARCH) && bin/release-tool verify bin/release-kind/$$version || exit 1; done
	go run ./test/kind --kind='$(KIND)' --version=v0.1.0 --next=v0.2.0 --ways=release,release-chart --releases=bin/release-kind \
		--archives=bin/release-kind/v0.1.0/handoff-webhook-v0.1.0-linux-$(ARCH).tar,bin/release-kind/v0.2.0/handoff-webhook-v0.2.0-linux-$(ARCH).tar $(if $(KEEP),--keep)

bin/kind: test/kind/binary/go.mod
	go build -C test/kind/binary -o ../../../$@ sigs.k8s.io/kind

bin/certmanager: $(wildcard test/kind/certmanager/*.go) test/kind/certmanager/go.mod
	@echo 'certmanager: building the controllers of cert-manager, which takes a few minutes the first time'
	go build -C test/kind/certmanager -o ../../../$@ .
	cat "$$(go list -C test/kind/certmanager -m -f '{{.Dir}}' github.com/cert-manager/cert-manager)"/deploy/crds/*.yaml >$@-crds.yaml

.PHONY: fuzz
fuzz: ## fuzz every fuzz target for FUZZTIME=30s
	@go test -list '^Fuzz' $$(go list ./... | grep -v /test/) | awk '/^Fuzz/ { t[n++] = $$1 } $$1 == "ok" { for (i = 0; i < n; i++) print $$2, t[i]; n = 0 }' | \
	while read -r package target; do \
		echo "fuzz: $$package $$target"; \
		go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 100x "$$package" </dev/null || exit 1; \
	done

.PHONY: edits
edits: controlplane ## apply EDITS=1000 generated edits, and compare what is stored with what the three-way merge predicts: SEED=N
	GENERATED_EDITS=$(or $(EDITS),1000) GENERATED_SEED=$(if $(filter-out 0,$(SEED)),$(SEED),$$(date +%s)) go test -count 1 -timeout 30m -run TestGeneratedEditsMatchKubectlApply -v ./test/apply

.PHONY: demo
demo: controlplane build ## show the problem and the fix on a real control plane
	go run ./test/demo

.PHONY: run
run: controlplane build ## start a control plane with the webhook to experiment with
	@go build -o bin/run ./test/run
	@bin/run

# Kyverno's admission controller with its CRDs, a reference of two parts of make bench.
KYVERNO := github.com/kyverno/kyverno
bin/kyverno: test/bench/kyverno/binary/go.mod
	@echo 'kyverno: building Kyverno, which takes several minutes the first time'
	@sh test/clients/build.sh $@ $(<D) $(KYVERNO)/cmd/kyverno $(KYVERNO) $(patsubst %,'config/crds/%/*.yaml',kyverno policies.kyverno.io policyreport reports)

# UPDATE=yes also writes docs/performance/results.md with its plots.
WITH_KYVERNO := $(if $(BENCH),$(filter latency load,$(subst $(comma), ,$(BENCH))),yes)
.PHONY: bench
bench: controlplane build plugin ## measure the costs, and draw them to bin/bench (about 20 minutes): BENCH=handler,latency,... UPDATE=yes
	@$(if $(WITH_KYVERNO),$(MAKE) --no-print-directory bin/kyverno || echo 'bench: Kyverno could not be built' >&2)
	go run ./test/bench -version='$(VERSION)' $(if $(BENCH),-part='$(BENCH)') $(if $(UPDATE),-page=docs/performance/results.md)
	go run -C test/bench/plot . '$(CURDIR)/bin/bench'
	$(if $(UPDATE),for f in bin/bench/*.svg bin/bench/profile.md; do if [ -e "$$f" ]; then cp "$$f" docs/performance/; fi; done)

.PHONY: benchstat
benchstat: ## compare the benchmarks of the handler with those of another commit: BASE=main COUNT=6
	sh test/bench/compare.sh '$(or $(BASE),main)' ./webhook '^BenchmarkHandler$$' '$(or $(COUNT),6)'

.PHONY: record
record: controlplane build ## record the reviews for unit tests and benchmarks again
	go run ./test/record

.PHONY: lint
lint: bin/golangci-lint bin/actionlint ## run golangci-lint and, on the workflows, actionlint
	bin/golangci-lint run ./...
	cd hack/image && ../../bin/golangci-lint run ./...
	cd hack/release && ../../bin/golangci-lint run ./...
	cd test/bench/plot && ../../../bin/golangci-lint run ./...
	bin/actionlint

bin/golangci-lint: hack/tools/go.mod
	@echo 'lint: building golangci-lint, which takes a few minutes the first time'
	go build -C hack/tools -o ../../$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

bin/actionlint: hack/actionlint/go.mod
	go build -C hack/actionlint -o ../../$@ github.com/rhysd/actionlint/cmd/actionlint

.PHONY: clean
clean: ## remove everything that was built
	rm -rf bin
