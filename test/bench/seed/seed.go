// Package seed fills a control plane with many copies of an object that the API server has stored. It writes the copies to etcd,
// because the API server would take minutes for 100,000 objects. For its clients, they are objects like any other.
package seed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// batch is the number of copies in a transaction; etcd accepts at most 128 operations.
	batch   = 100
	workers = 4

	awaitTimeout = 2 * time.Minute
)

// Copies are copies of a stored object.
type Copies struct {
	// Etcd is the address of etcd.
	Etcd string
	// Key is the object's key, such as /registry/namespaces/team-000.
	Key string
	// From and To are the numbers of the first copy and of the one after the last.
	From, To int
	// Replace returns what is replaced in the key and the object for a copy: pairs of texts of equal length, because stored objects
	// contain the lengths of their texts.
	Replace func(i int) [][2]string
}

// pair is a key and its value, in the API of etcd's gRPC gateway (https://etcd.io/docs/latest/dev-guide/api_grpc_gateway).
type pair struct {
	Key   []byte `json:"key"`
	Value []byte `json:"value,omitempty"`
}

// Write writes the copies, the last one after all others: a client that can read it can read all of them.
func (c Copies) Write(ctx context.Context) error {
	var found struct {
		Pairs []pair `json:"kvs"`
	}
	if err := c.post(ctx, "range", pair{Key: []byte(c.Key)}, &found); err != nil {
		return fmt.Errorf("reading %s: %w", c.Key, err)
	}
	if len(found.Pairs) != 1 {
		return fmt.Errorf("reading %s: etcd has no such key", c.Key)
	}
	group, inGroup := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for from := c.From; from < c.To-1; from += batch {
		group.Go(func() error { return c.writeBatch(inGroup, found.Pairs[0], from, min(from+batch, c.To-1)) })
	}
	if err := group.Wait(); err != nil || c.From >= c.To {
		return err
	}
	return c.writeBatch(ctx, found.Pairs[0], c.To-1, c.To)
}

// Await waits until the API server has read an object that was written to etcd, into the cache that it serves watches from.
func Await(ctx context.Context, api client.Client, written client.Object) error {
	cached := &client.GetOptions{Raw: &metav1.GetOptions{ResourceVersion: "0"}}
	read := func(ctx context.Context) (bool, error) {
		err := api.Get(ctx, client.ObjectKeyFromObject(written), written, cached)
		return err == nil, client.IgnoreNotFound(err)
	}
	if err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, awaitTimeout, true, read); err != nil {
		return fmt.Errorf("waiting until the API server has read %s: %w", written.GetName(), err)
	}
	return nil
}

type operation struct {
	Put pair `json:"requestPut"`
}

func (c Copies) writeBatch(ctx context.Context, original pair, from, to int) error {
	var transaction struct {
		Success []operation `json:"success"`
	}
	for i := from; i < to; i++ {
		one, err := c.copy(original, i)
		if err != nil {
			return err
		}
		transaction.Success = append(transaction.Success, operation{one})
	}
	var answer struct {
		Succeeded bool `json:"succeeded"`
	}
	if err := c.post(ctx, "txn", transaction, &answer); err != nil {
		return fmt.Errorf("writing copies of %s: %w", c.Key, err)
	}
	if !answer.Succeeded {
		return fmt.Errorf("writing copies of %s: the transaction did not succeed", c.Key)
	}
	return nil
}

func (c Copies) copy(original pair, i int) (pair, error) {
	key, value := original.Key, original.Value
	for _, replaced := range c.Replace(i) {
		before, after := []byte(replaced[0]), []byte(replaced[1])
		if len(before) != len(after) {
			return pair{}, fmt.Errorf("copying %s: %q and %q have different lengths", c.Key, before, after)
		}
		key, value = bytes.ReplaceAll(key, before, after), bytes.ReplaceAll(value, before, after)
	}
	return pair{Key: key, Value: value}, nil
}

func (c Copies) post(ctx context.Context, method string, body, answer any) (err error) {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Etcd+"/v3/kv/"+method, bytes.NewReader(text))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	if text, err = io.ReadAll(response.Body); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("etcd returned %s: %.200s", response.Status, text)
	}
	return json.Unmarshal(text, answer)
}

// Name returns the name of a copy, whose number has a fixed number of digits.
func Name(prefix string, i, digits int) string { return fmt.Sprintf("%s-%0*d", prefix, digits, i) }
