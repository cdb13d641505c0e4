package peers

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

func typed() (http.Handler, error) {
	decoder := admission.NewDecoder(clientgoscheme.Scheme)
	handle := func(_ context.Context, req admission.Request) admission.Response {
		var d appsv1.Deployment
		if err := decoder.Decode(req, &d); err != nil {
			return admission.Errored(http.StatusBadRequest, err)
		}
		d.Spec.Replicas = new(int32(Replicas))
		text, err := json.Marshal(&d)
		if err != nil {
			return admission.Errored(http.StatusInternalServerError, err)
		}
		return admission.PatchResponseFromRaw(req.Object.Raw, text)
	}
	hook := &admission.Webhook{Handler: admission.HandlerFunc(handle)}
	handler, err := admission.StandaloneWebhook(hook, admission.StandaloneOptions{Logger: logr.Discard()})
	if err != nil {
		return nil, fmt.Errorf("creating the typed webhook: %w", err)
	}
	return handler, nil
}
