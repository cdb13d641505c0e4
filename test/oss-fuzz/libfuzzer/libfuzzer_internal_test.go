package libfuzzer

import (
	"reflect"
	"strconv"
	"testing"

	"github.com/ownership-handoff/handoff/internal/expect"
)

func TestASeedIsDecodedAsItWasEncoded(t *testing.T) {
	for name, c := range map[string]struct {
		function any
		seed     []any
	}{
		"a text":              {func(*T, []byte) {}, []any{[]byte("a")}},
		"an empty text":       {func(*T, string) {}, []any{""}},
		"three texts":         {func(*T, []byte, string, []byte) {}, []any{[]byte("a"), "", []byte("bc")}},
		"numbers and a text":  {func(*T, byte, byte, []byte) {}, []any{byte(1), byte(2), []byte("a")}},
		"a text and a number": {func(*T, string, uint64) {}, []any{"a", uint64(1)<<63 + 1}},
	} {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, "seed", c.seed, decoded(encode(c.seed), c.function))
		})
	}
}

func TestEveryInputHasArguments(t *testing.T) {
	for input, want := range map[string][]any{
		"":                            {uint64(0), "", ""},
		"\x01\x02":                    {uint64(0x201), "", ""},
		"12345678\x07\x00":            {uint64(0x3837363534333231), "", ""},
		"12345678\x05\x00\x00\x00abc": {uint64(0x3837363534333231), "a", "bc"}, // 5 is 1 modulo 4
		"12345678\xff\xff\xff\xff":    {uint64(0x3837363534333231), "", ""},
	} {
		expect.Equal(t, strconv.Quote(input), want, decoded([]byte(input), func(*T, uint64, string, string) {}))
	}
}

func TestAFailurePanics(t *testing.T) {
	for name, report := range map[string]func(*F){
		"Error":  func(f *F) { f.Error("a", 1) },
		"Errorf": func(f *F) { f.Errorf("a%d", 1) },
		"Fatal":  func(f *F) { f.Fatal("a", 1) },
		"Fatalf": func(f *F) { f.Fatalf("a%d", 1) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if reason := recover(); reason != "a1" {
					t.Errorf("it panics with %v", reason)
				}
			}()
			report(&F{})
		})
	}
}

func decoded(input []byte, function any) (args []any) {
	for _, arg := range decode(input, reflect.TypeOf(function)) {
		args = append(args, arg.Interface())
	}
	return args
}
