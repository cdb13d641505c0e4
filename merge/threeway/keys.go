package threeway

import (
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/ownership-handoff/handoff/merge/schema"
)

// elementID is the key of an element of a keyed list, or the value of an element of a set.
type elementID struct {
	kind jsontext.Kind
	text string
}

// elements are the elements of a keyed list or a set, with an index by elementID.
type elements struct {
	list     []member
	ids      []elementID
	strategy schema.Strategy
	index    map[elementID]int
	twice    int  // the index of the first duplicate, -1 if there is none
	oneKind  bool // the values must be of one kind: the list is a set, and its schema does not allow any kind
}

// indexed returns the elements of a list, which may be nil. A duplicate element is an error.
func (m *merger) indexed(input string, list *node, place schema.Schema) (elements, error) {
	e, err := m.identified(input, list, place)
	if err == nil && e.twice >= 0 {
		m.at.Enter(e.step(e.twice))
		err = m.at.Wrong(input, ErrDuplicate, "at index %d", e.twice)
	}
	return e, err
}

// identified is indexed for lists that may contain duplicates.
func (m *merger) identified(input string, list *node, place schema.Schema) (elements, error) {
	e := elements{twice: -1}
	if list == nil || list.Kind != '[' {
		return e, nil
	}
	e.list, e.strategy = list.Children, place.Strategy()
	e.ids = make([]elementID, 0, len(e.list))
	e.oneKind = e.strategy.List == schema.MergeSet && place.Element().Strategy().Kind != schema.AnyKind
	e.index = make(map[elementID]int, len(e.list))
	for i := range e.list {
		element := &e.list[i].Node
		m.at.Enter(step{IsIndex: true, Index: i})
		id, err := m.identify(input, element, e.strategy)
		if err != nil {
			return e, err
		}
		switch _, isTwice := e.index[id]; {
		case !isTwice:
			e.index[id] = i
		case e.twice < 0:
			e.twice = i
		}
		e.ids = append(e.ids, id)
		if e.oneKind && id.kind != e.ids[0].kind {
			return e, m.at.Wrong(input, ErrWrongKind, "it is %s in a set of another kind", element.Describe())
		}
		m.at.Leave()
	}
	return e, nil
}

// sameKinds checks that the values of two sets are of one kind.
func (m *merger) sameKinds(set, other elements) error {
	if set.oneKind && len(set.ids) > 0 && len(other.ids) > 0 && set.ids[0].kind != other.ids[0].kind {
		return m.at.Wrong(inManifest, ErrWrongKind, "it is a set of another kind")
	}
	return nil
}

// find returns the element with an id, nil if there is none. Of duplicates it returns the one at the index guess, else the first.
func (e elements) find(id elementID, guess int) *node {
	i, ok := e.index[id]
	if !ok {
		return nil
	}
	if guess < len(e.ids) && e.ids[guess] == id {
		i = guess
	}
	return &e.list[i].Node
}

func (e elements) step(i int) step {
	return step{Element: &e.list[i].Node, Keys: e.strategy.Keys, Defaults: e.strategy.Defaults}
}

// identify returns the id of an element, which the merge is at.
func (m *merger) identify(input string, element *node, strategy schema.Strategy) (elementID, error) {
	isKeyed, isObject := strategy.List == schema.MergeByKey, element.Kind == '{'
	switch {
	case isObject != isKeyed, element.Kind == '[', element.Kind == 'n':
		return elementID{}, m.at.Wrong(input, ErrWrongKind, "it is %s", element.Describe())
	case !isKeyed:
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
		return elementID{}, m.at.Wrong(input, ErrNoKey, "%s", name)
	case key.IsContainer():
		m.at.Enter(step{Name: name})
		return elementID{}, m.at.Wrong(input, ErrWrongKind, "it is %s", key.Describe())
	}
	return identity(key), nil
}

// identity returns the id of a scalar. Numbers with equal values are the same: 80 and 8e1 are one port.
func identity(n *node) elementID {
	switch n.Kind {
	case '"':
		return elementID{'"', n.Unquoted()}
	case '0':
		return elementID{'0', canonical(n.Text)}
	default:
		return elementID{n.Kind, n.Text}
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
