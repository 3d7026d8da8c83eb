package upstream

import (
	"net"
	"net/http"
	"time"
)

// NewTransport returns the transport a client uses by default, so that it can be wrapped
// (for traces) before it is put into [Options]. It honours HTTPS_PROXY and NO_PROXY,
// keeps a few connections per host, and bounds dialling, handshake and header size.
func NewTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           32,
		MaxIdleConnsPerHost:    16,
		IdleConnTimeout:        60 * time.Second,
		TLSHandshakeTimeout:    5 * time.Second,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
}
