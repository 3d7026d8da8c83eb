package valkeyserver

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// slots is the number of hash slots of a cluster.
const slots = 16384

// StartCluster runs a cluster of n primaries for the length of a test.
func StartCluster(t testing.TB, n int) []*Server {
	t.Helper()
	var nodes []*Server
	for i := range n {
		node := Start(t, "--cluster-enabled", "yes", "--cluster-node-timeout", "2000")
		must(t, node, "CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(slots*i/n), strconv.Itoa(slots*(i+1)/n-1))
		must(t, node, "CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1))
		if i > 0 {
			must(t, node, "CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(nodes[0].Port()))
		}
		nodes = append(nodes, node)
	}
	for _, node := range nodes {
		await(t, node, "cluster_state:ok", "CLUSTER", "INFO")
		await(t, node, fmt.Sprintf("cluster_known_nodes:%d", n), "CLUSTER", "INFO")
	}
	return nodes
}

// StartSentinel runs a sentinel that watches primary under the name "main" for the
// length of a test.
func StartSentinel(t testing.TB, primary *Server) *Server {
	t.Helper()
	conf := t.TempDir() + "/sentinel.conf"
	text := fmt.Sprintf("sentinel monitor main 127.0.0.1 %d 1\nsentinel down-after-milliseconds main 500\n"+
		"sentinel failover-timeout main 3000\n", primary.Port())
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s.first = []string{conf, "--sentinel"}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// StartReplica runs a replica of primary for the length of a test.
func StartReplica(t testing.TB, primary *Server) *Server {
	t.Helper()
	r := Start(t, "--replicaof", "127.0.0.1 "+strconv.Itoa(primary.Port()))
	await(t, r, "master_link_status:up", "INFO", "replication")
	return r
}

// must sends a command that has to succeed.
func must(t testing.TB, s *Server, args ...string) {
	t.Helper()
	if reply, err := s.Do(args...); err != nil || strings.HasPrefix(reply, "-") {
		t.Fatalf("%v: %s%v", args, reply, err)
	}
}

// await repeats a command until its reply contains want.
func await(t testing.TB, s *Server, want string, args ...string) {
	t.Helper()
	var reply string
	for end := time.Now().Add(startTimeout); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if reply, _ = s.Do(args...); strings.Contains(reply, want) {
			return
		}
	}
	t.Fatalf("%v never answered %q, but %s", args, want, reply)
}
