package merge

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// elementID tells the elements of a keyed list, or of a set, apart.
type elementID struct {
	kind jsontext.Kind
	text string
}

// elements are those of a keyed list or a set, by their identity.
type elements struct {
	elements []member
	ids      []elementID
	keys     []string // none for a set
	index    map[elementID]int
}

// indexed returns the elements of a list, which is nil where the input has none.
func (m *merger) indexed(input string, list *node, strategy Strategy) (elements, error) {
	if list == nil || list.kind != '[' {
		return elements{}, nil
	}
	list.open()
	e := elements{elements: list.children, ids: make([]elementID, len(list.children)), keys: strategy.Keys}
	if len(e.ids) > linear {
		e.index = make(map[elementID]int, len(e.ids))
	}
	for i := range e.elements {
		id, err := m.identify(input, &e.elements[i].node, i, strategy)
		if err != nil {
			return elements{}, err
		}
		if e.at(id, len(e.ids)) >= 0 {
			return elements{}, m.twice(input, e.step(i), i)
		}
		e.ids[i] = id
		if e.index != nil {
			e.index[id] = i
		}
	}
	return e, nil
}

func (m *merger) twice(input string, element step, i int) error {
	m.enter(element)
	defer m.leave()
	return m.wrong(input, ErrDuplicate, "at index %d", i)
}

// at returns where the element of that identity is, or -1. The caller guesses the place.
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

// find returns the element of that identity, nil where there is none.
func (e elements) find(id elementID, guess int) *node {
	if i := e.at(id, guess); i >= 0 {
		return &e.elements[i].node
	}
	return nil
}

func (e elements) step(i int) step { return step{element: &e.elements[i].node, keys: e.keys} }

func (m *merger) identify(input string, element *node, i int, strategy Strategy) (elementID, error) {
	holds := HoldsScalar
	if strategy.List == MergeByKey {
		holds = HoldsObject
	}
	m.enter(step{indexed: true, index: i})
	defer m.leave()
	switch err := m.check(input, element, holds); {
	case err != nil:
		return elementID{}, err
	case element.kind == 'n':
		return elementID{}, m.wrong(input, ErrWrongKind, "it is null")
	case holds == HoldsScalar:
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

// key returns what one key of an element is.
func (m *merger) key(input string, element *node, name string) (elementID, error) {
	key := element.field(name, 0)
	switch {
	case key == nil || key.kind == 'n':
		return elementID{}, m.wrong(input, ErrNoKey, "%s", name)
	case key.kind == '{' || key.kind == '[':
		m.enter(step{name: name})
		defer m.leave()
		return elementID{}, m.wrong(input, ErrWrongKind, "it is %s", key.kindName())
	}
	return key.identity(), nil
}

// identity returns that of a scalar. Numbers are the same when their values are: 80 and 8e1 name one port.
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
