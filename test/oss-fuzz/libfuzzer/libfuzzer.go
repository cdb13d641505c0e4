// Package libfuzzer replaces package testing in the fuzz targets that test/oss-fuzz/build.sh builds. OSS-Fuzz' engine calls a function
// with each input, and only a panic is a failure.
package libfuzzer

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"sync"
	"testing"
)

// Tests that are beside a target are compiled with it, but never run. They need these types and functions, and T's Parallel and Run.
type (
	// B is that of package testing.
	B = testing.B
	// M is that of package testing.
	M = testing.M
	// TB is that of package testing.
	TB = testing.TB
)

// AllocsPerRun is that of package testing.
func AllocsPerRun(runs int, f func()) float64 { return testing.AllocsPerRun(runs, f) }

// Short is that of package testing.
func Short() bool { return testing.Short() }

// T panics if the test fails. TB is nil: a target that calls another method panics, too.
type T struct{ testing.TB }

// Error panics.
func (*T) Error(args ...any) { panic(fmt.Sprint(args...)) }

// Errorf panics.
func (*T) Errorf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// Fatal panics.
func (*T) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

// Fatalf panics.
func (*T) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// Context is never done.
func (*T) Context() context.Context { return context.Background() }

// Helper does nothing.
func (*T) Helper() {}

// Log does nothing.
func (*T) Log(...any) {}

// Logf does nothing.
func (*T) Logf(string, ...any) {}

// Parallel panics.
func (*T) Parallel() { panic("Parallel") }

// Run panics.
func (*T) Run(string, func(*T)) bool { panic("Run") }

// F has the seeds of a target, and the function that it runs with each input.
type F struct {
	T

	seeds [][]any
	run   reflect.Value
}

// Add adds a seed.
func (f *F) Add(args ...any) { f.seeds = append(f.seeds, args) }

// Fuzz sets the function.
func (f *F) Fuzz(run any) { f.run = reflect.ValueOf(run) }

var (
	once   sync.Once
	target F
)

// Run runs the program's one target with an input. Before the first one, the target is set up in a folder beside the program, which
// has its testdata. If the environment variable SEEDS names another folder, the seeds are written to it, and the program exits.
func Run(fuzz func(*F), folder string, input []byte) int {
	once.Do(func() {
		if err := setUp(fuzz, folder); err != nil {
			panic(err)
		}
	})
	target.run.Call(append([]reflect.Value{reflect.ValueOf(&T{})}, decode(input, target.run.Type())...))
	return 0
}

func setUp(fuzz func(*F), folder string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	before, err := os.Getwd() // which the engine's paths are relative to
	if err != nil {
		return err
	}
	if err := os.Chdir(filepath.Join(filepath.Dir(program), folder)); err != nil {
		return err
	}
	fuzz(&target)
	if err := os.Chdir(before); err != nil {
		return err
	}
	to := os.Getenv("SEEDS")
	if to == "" {
		return nil
	}
	for i, seed := range target.seeds {
		if err := os.WriteFile(filepath.Join(to, strconv.Itoa(i)), encode(seed), 0o600); err != nil {
			return err
		}
	}
	os.Exit(0)
	return nil
}

// encode returns the input for the arguments of a function: first the numbers, then the texts. Each text except for the last one has
// its length before it.
func encode(args []any) []byte {
	var numbers []byte
	var texts [][]byte
	for _, arg := range args {
		switch arg := arg.(type) {
		case byte:
			numbers = append(numbers, arg)
		case uint64:
			numbers = binary.LittleEndian.AppendUint64(numbers, arg)
		case string:
			texts = append(texts, []byte(arg))
		case []byte:
			texts = append(texts, arg)
		default:
			panic(fmt.Sprintf("an argument is a %T", arg))
		}
	}
	input := numbers
	for i, text := range texts {
		if i < len(texts)-1 {
			input = binary.LittleEndian.AppendUint32(input, uint32(len(text)))
		}
		input = append(input, text...)
	}
	return input
}

// decode returns the arguments of a function after the first one. Every input has some: what is missing is zero, and a length that is
// too large is taken modulo what is left.
func decode(input []byte, function reflect.Type) []reflect.Value {
	input = bytes.Clone(input) // the engine's memory
	number := func(size int) uint64 {
		var text [8]byte
		input = input[copy(text[:size], input):]
		return binary.LittleEndian.Uint64(text[:])
	}
	args := make([]reflect.Value, function.NumIn()-1)
	var texts []reflect.Value
	for i := range args {
		args[i] = reflect.New(function.In(i + 1)).Elem()
		if args[i].CanUint() {
			args[i].SetUint(number(int(args[i].Type().Size())))
		} else {
			texts = append(texts, args[i])
		}
	}
	for i, text := range texts {
		length := len(input)
		if i < len(texts)-1 {
			size := number(4)
			length = int(size % uint64(len(input)+1))
		}
		text.Set(reflect.ValueOf(input[:length:length]).Convert(text.Type()))
		input = input[length:]
	}
	return args
}
