package ownership

import (
	"bytes"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/internal/rawjson"
)

// differences returns the paths at which the manifest drops something that the base has. A path ends where the two do not
// both have an object: at a member that the manifest lacks, or at a list that is not the same.
func differences(base, manifest []byte, meter Meter) *fieldtree.Tree {
	d := differ{tree: &fieldtree.Tree{}, meter: meter}
	d.objects(base, manifest)
	return d.tree
}

// differ compares the base and the manifest.
type differ struct {
	tree  *fieldtree.Tree
	meter Meter
	path  []string     // to the current object
	texts []memberText // the members of the manifest's objects along the path
}

// objects compares two objects member by member.
func (d *differ) objects(base, manifest []byte) {
	if d.meter != nil && !d.meter(len(base)+len(manifest)) {
		return
	}
	outer := len(d.texts)
	now := d.membersOf(manifest)
	rawjson.Members(base, func(name, value rawjson.Span) bool {
		d.member(rawjson.Name(name.Of(base)), value.Of(base), now)
		return true
	})
	d.texts = d.texts[:outer]
}

// member compares a member of the base's object, with value was, with the manifest's object.
func (d *differ) member(name, was []byte, manifest members) {
	now := manifest.value(name)
	objects := len(now) > 0 && now[0] == '{' && was[0] == '{'
	isSet := len(now) > 0 && !objects && now[0] != '[' // a scalar, or an object in place of another value
	tooDeep := objects && len(d.path) >= fieldtree.MaxDepth
	if bytes.Equal(was, now) || isSet || tooDeep {
		return
	}
	d.path = append(d.path, string(name))
	if objects {
		d.objects(was, now)
	} else {
		path := make(fieldpath.Path, len(d.path))
		for i, name := range d.path {
			path[i] = fieldpath.FieldNameElement(name)
		}
		d.tree.Add(path)
	}
	d.path = d.path[:len(d.path)-1]
}

// members are the values of an object by name.
type members struct {
	list   []memberText
	byName map[string][]byte // nil for few members
}

type memberText struct{ name, value []byte }

// manyMembers is the number of members above which an index is built.
const manyMembers = 16

// membersOf returns the members of an object, which stay valid until the end of the comparison of that object.
func (d *differ) membersOf(object []byte) members {
	outer := len(d.texts)
	rawjson.Members(object, func(name, value rawjson.Span) bool {
		d.texts = append(d.texts, memberText{rawjson.Name(name.Of(object)), value.Of(object)})
		return true
	})
	m := members{list: d.texts[outer:len(d.texts):len(d.texts)]}
	if len(m.list) > manyMembers {
		m.byName = make(map[string][]byte, len(m.list))
		for _, member := range m.list {
			m.byName[string(member.name)] = member.value
		}
	}
	return m
}

// value returns the value of the member of that name, nil if there is none.
func (m members) value(name []byte) []byte {
	if m.byName != nil {
		return m.byName[string(name)]
	}
	for _, member := range m.list {
		if bytes.Equal(member.name, name) {
			return member.value
		}
	}
	return nil
}
