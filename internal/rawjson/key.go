package rawjson

// KeyDefault returns the value of a list element's key field that the element lacks, nil if there is none. The API server
// defaults the protocol of a port to TCP.
func KeyDefault(name string) []byte {
	if name == "protocol" {
		return []byte(`"TCP"`)
	}
	return nil
}
