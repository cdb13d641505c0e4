package threeway

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/ownership-handoff/handoff/internal/jsonnode"
	"github.com/ownership-handoff/handoff/merge/schema"
)

// elementID is the key of an element of a keyed list, or the value of an element of a set.
type elementID struct {
	kind jsontext.Kind
	text string
}

// elements are the elements of a keyed list or a set, with an index by elementID.
type elements struct {
	elements []member
	ids      []elementID
	strategy schema.Strategy
	index    map[elementID]int
	twice    int // the index of the first duplicate, -1 if there is none
	// oneKind reports whether the list is a set whose values must be of one kind: all sets but those that allow any. kind is
	// that of the values so far, 0 if there are none.
	oneKind bool
	kind    jsontext.Kind
}

// elementsOf returns the elements of a list, which may be nil, without an index.
func elementsOf(list *node, place schema.Schema) elements {
	e := elements{twice: -1}
	if list == nil || list.Kind != '[' {
		return e
	}
	e.elements, e.strategy = list.Open(), place.Strategy()
	e.ids = make([]elementID, 0, len(e.elements))
	e.oneKind = e.strategy.List == schema.MergeSet && place.Element().Strategy().Kind != schema.AnyKind
	if len(e.elements) > jsonnode.Few {
		e.index = make(map[elementID]int, len(e.elements))
	}
	return e
}

// indexed returns the elements of a list, which may be nil. A duplicate element is an error.
func (m *merger) indexed(input string, list *node, place schema.Schema) (elements, error) {
	e, err := m.identified(input, list, place)
	if err == nil && e.twice >= 0 {
		err = m.twice(input, e.step(e.twice), e.twice)
	}
	return e, err
}

// identified is indexed for lists that may contain duplicates: lookups return the first.
func (m *merger) identified(input string, list *node, place schema.Schema) (elements, error) {
	e := elementsOf(list, place)
	for i := range e.elements {
		if err := m.identifyNext(&e, input, i); err != nil {
			return e, err
		}
	}
	return e, nil
}

// identifyNext adds the id of the element at index i, the first that has none, and checks its kind.
func (m *merger) identifyNext(e *elements, input string, i int) error {
	id, err := m.identify(input, &e.elements[i].Node, i, e.strategy)
	if err != nil {
		return err
	}
	switch first := e.at(id, i); {
	case first >= 0 && e.twice < 0:
		e.twice = i
	case first < 0 && e.index != nil:
		e.index[id] = i
	}
	e.ids = append(e.ids, id)
	kind := id.kind
	if kind == 'f' {
		kind = 't'
	}
	if e.oneKind && e.kind != 0 && e.kind != kind {
		m.enter(step{indexed: true, index: i})
		defer m.leave()
		return m.wrong(input, ErrWrongKind, "%s in a set of another kind", (&node{Kind: kind}).Describe())
	}
	e.kind = kind
	return nil
}

// sameKinds checks that the values of two sets are of one kind.
func (m *merger) sameKinds(set, other elements) error {
	if set.oneKind && set.kind != 0 && other.kind != 0 && set.kind != other.kind {
		return m.wrong(inManifest, ErrWrongKind, "it is a set of another kind")
	}
	return nil
}

func (m *merger) twice(input string, element step, i int) error {
	m.enter(element)
	defer m.leave()
	return m.wrong(input, ErrDuplicate, "at index %d", i)
}

// at returns the index of the element with an id, or -1. guess is its most likely index.
func (e elements) at(id elementID, guess int) int {
	if guess < len(e.ids) && e.ids[guess] == id {
		return guess
	}
	if e.index == nil {
		return slices.Index(e.ids, id)
	}
	if i, ok := e.index[id]; ok {
		return i
	}
	return -1
}

// find returns the element with an id, nil if there is none.
func (e elements) find(id elementID, guess int) *node {
	if i := e.at(id, guess); i >= 0 {
		return &e.elements[i].Node
	}
	return nil
}

func (e elements) step(i int) step { return elementStep(&e.elements[i].Node, e.strategy) }

// identify returns the id of the element at index i of a list.
func (m *merger) identify(input string, element *node, i int, strategy schema.Strategy) (elementID, error) {
	holds := schema.ScalarKind
	if strategy.List == schema.MergeByKey {
		holds = schema.ObjectKind
	}
	m.enter(step{indexed: true, index: i})
	defer m.leave()
	switch err := m.check(input, element, holds); {
	case err != nil:
		return elementID{}, err
	case element.Kind == 'n':
		return elementID{}, m.wrong(input, ErrWrongKind, "it is null")
	case holds == schema.ScalarKind:
		return identity(element), nil
	case len(strategy.Keys) == 1:
		return m.key(input, element, strategy.Keys[0], strategy.Defaults)
	}
	var all strings.Builder
	for _, name := range strategy.Keys {
		id, err := m.key(input, element, name, strategy.Defaults)
		if err != nil {
			return elementID{}, err
		}
		all.WriteByte(byte(id.kind))
		all.WriteString(strconv.Quote(id.text))
	}
	return elementID{kind: '{', text: all.String()}, nil
}

// key returns the id for one key field of an element.
func (m *merger) key(input string, element *node, name string, defaults map[string]string) (elementID, error) {
	key := element.Key(name, defaults)
	switch {
	case key == nil:
		return elementID{}, m.wrong(input, ErrNoKey, "%s", name)
	case key.Kind == '{' || key.Kind == '[':
		m.enter(step{name: name})
		defer m.leave()
		return elementID{}, m.wrong(input, ErrWrongKind, "%s", key.Describe())
	}
	return identity(key), nil
}

// identity returns the id of a scalar. Numbers with equal values are the same: 80 and 8e1 are one port.
func identity(n *node) elementID {
	switch n.Kind {
	case '"':
		return elementID{'"', n.Unquoted()}
	case '0':
		return elementID{'0', canonical(n.Number())}
	default:
		return elementID{n.Kind, ""}
	}
}

// canonical returns the text of an integer without a fraction or an exponent, and any other number as it is.
func canonical(number string) string {
	if !strings.ContainsAny(number, ".eE") {
		return number
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) >= 1<<53 {
		return number
	}
	return strconv.FormatInt(int64(f), 10)
}
