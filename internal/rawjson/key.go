package rawjson

// DefaultProtocol is the protocol that the API server sets for a port without one (k8s.io/api/core/v1, ServicePort).
const DefaultProtocol = "TCP"

// KeyDefault returns the value of a list element's key field that the element lacks, nil if there is none.
func KeyDefault(name string) []byte {
	if name == "protocol" {
		return []byte(`"` + DefaultProtocol + `"`)
	}
	return nil
}
