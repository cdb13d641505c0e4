package threeway

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ownership-handoff/handoff/merge/schema"

	"github.com/go-json-experiment/json/jsontext"
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
	keys     []string // none for a set
	index    map[elementID]int
	twice    int // the index of the first duplicate, -1 if there is none
	kinds    setKinds
}

// indexed returns the elements of a list, which may be nil. A duplicate element is an error.
func (m *merger) indexed(input string, list *node, strategy schema.Strategy) (elements, error) {
	e, err := m.identified(input, list, strategy)
	if err == nil && e.twice >= 0 {
		err = m.twice(input, e.step(e.twice), e.twice)
	}
	return e, err
}

// identified is indexed for lists that may contain duplicates: lookups return the first.
func (m *merger) identified(input string, list *node, strategy schema.Strategy) (elements, error) {
	e := elements{twice: -1}
	if list == nil || list.kind != '[' {
		return e, nil
	}
	list.open()
	e.elements, e.keys, e.ids = list.children, strategy.Keys, make([]elementID, len(list.children))
	if len(e.ids) > linear {
		e.index = make(map[elementID]int, len(e.ids))
	}
	for i := range e.elements {
		id, err := m.identify(input, &e.elements[i].node, i, strategy)
		if err != nil {
			return e, err
		}
		first := -1
		if e.index != nil {
			if at, ok := e.index[id]; ok {
				first = at
			} else {
				e.index[id] = i
			}
		} else {
			first = slices.Index(e.ids[:i], id)
		}
		if first >= 0 && e.twice < 0 {
			e.twice = i
		}
		e.ids[i] = id
		if strategy.List == schema.MergeSet {
			if err := m.oneKind(&e.kinds, input, id, i); err != nil {
				return e, err
			}
		}
	}
	return e, nil
}

// setKinds is the kind of a set's values; 0 if no value has been visited.
type setKinds struct{ kind jsontext.Kind }

// oneKind checks that the values of a set are of one kind.
func (m *merger) oneKind(kinds *setKinds, input string, id elementID, i int) error {
	kind := id.kind
	if kind == 'f' {
		kind = 't'
	}
	if kinds.kind == 0 || kinds.kind == kind {
		kinds.kind = kind
		return nil
	}
	m.enter(step{indexed: true, index: i})
	defer m.leave()
	return m.wrong(input, ErrWrongKind, "%s in a set of another kind", node{kind: kind}.describe())
}

// sameKinds checks that the values of two sets are of one kind.
func (m *merger) sameKinds(set, other elements) error {
	if a, b := set.kinds.kind, other.kinds.kind; a != 0 && b != 0 && a != b {
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
		return &e.elements[i].node
	}
	return nil
}

func (e elements) step(i int) step { return step{element: &e.elements[i].node, keys: e.keys} }

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
	case element.kind == 'n':
		return elementID{}, m.wrong(input, ErrWrongKind, "it is null")
	case holds == schema.ScalarKind:
		return element.identity(), nil
	case len(strategy.Keys) == 1:
		return m.key(input, element, strategy.Keys[0])
	}
	var all strings.Builder
	for _, name := range strategy.Keys {
		id, err := m.key(input, element, name)
		if err != nil {
			return elementID{}, err
		}
		all.WriteByte(byte(id.kind))
		all.WriteString(strconv.Quote(id.text))
	}
	return elementID{kind: '{', text: all.String()}, nil
}

// key returns the id for one key field of an element.
func (m *merger) key(input string, element *node, name string) (elementID, error) {
	var decodedKey node
	var key *node
	if object := element.object(); object != nil && !element.opened {
		if value, ok := object[name]; ok {
			decodedKey = nodeOf(value)
			key = &decodedKey
		}
	} else {
		key = element.field(name, 0)
	}
	switch {
	case key == nil:
		return elementID{}, m.wrong(input, ErrNoKey, "%s", name)
	case key.kind == '{' || key.kind == '[':
		m.enter(step{name: name})
		defer m.leave()
		return elementID{}, m.wrong(input, ErrWrongKind, "%s", key.describe())
	}
	return key.identity(), nil
}

// identity returns the id of a scalar. Numbers with equal values are the same: 80 and 8e1 are one port.
func (n *node) identity() elementID {
	switch n.kind {
	case '"':
		return elementID{'"', n.unquoted()}
	case '0':
		return elementID{'0', canonical(n.number())}
	default:
		return elementID{n.kind, ""}
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
