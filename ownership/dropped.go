package ownership

import (
	"bytes"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/internal/rawjson"
)

// differences returns the places where the base has something that the manifest lacks or has otherwise: the outermost at
// which no object stands on both sides. Of manifests in which little changes, little is left to look at.
func differences(base, manifest []byte, meter Meter) *fieldtree.Tree {
	d := differ{tree: &fieldtree.Tree{}, meter: meter}
	d.objects(base, manifest)
	return d.tree
}

type differ struct {
	tree  *fieldtree.Tree
	meter Meter
	way   []string     // the names that lead to where it is
	texts []memberText // of the objects on the way
}

// objects compares two objects member by member.
func (d *differ) objects(base, manifest []byte) {
	if d.meter != nil && !d.meter(len(base)+len(manifest)) {
		return
	}
	mark := len(d.texts)
	now := d.membersOf(manifest)
	rawjson.Members(base, func(name, value rawjson.Span) bool {
		d.member(rawjson.Name(name.Of(base)), value.Of(base), now)
		return true
	})
	d.texts = d.texts[:mark]
}

func (d *differ) member(name, was []byte, manifest members) {
	now := manifest.value(name)
	objects := len(now) > 0 && now[0] == '{' && was[0] == '{'
	if bytes.Equal(was, now) || !objects && len(now) > 0 && now[0] != '[' || objects && len(d.way) >= fieldtree.MaxDepth {
		return
	}
	d.way = append(d.way, string(name))
	if objects {
		d.objects(was, now)
	} else {
		path := make(fieldpath.Path, len(d.way))
		for i, name := range d.way {
			path[i] = fieldpath.FieldNameElement(name)
		}
		d.tree.Add(path)
	}
	d.way = d.way[:len(d.way)-1]
}

// members are the values of an object by name.
type members struct {
	list   []memberText
	byName map[string][]byte // where there are many
}

type memberText struct{ name, value []byte }

const manyMembers = 16

func (d *differ) membersOf(object []byte) members {
	mark := len(d.texts)
	rawjson.Members(object, func(name, value rawjson.Span) bool {
		d.texts = append(d.texts, memberText{rawjson.Name(name.Of(object)), value.Of(object)})
		return true
	})
	m := members{list: d.texts[mark:len(d.texts):len(d.texts)]}
	if len(m.list) > manyMembers {
		m.byName = make(map[string][]byte, len(m.list))
		for _, member := range m.list {
			m.byName[string(member.name)] = member.value
		}
	}
	return m
}

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
