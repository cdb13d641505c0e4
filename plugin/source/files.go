package source

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/ownership-handoff/handoff/internal/scale"
)

// readFiles reads the objects in the files of a query. The autoscalers and definitions in the files are the facts about them.
func (r Reader) readFiles(ctx context.Context, q Query) ([]*unstructured.Unstructured, origin, []string, error) {
	objects, err := r.inFiles(ctx, q)
	if err != nil {
		return nil, nil, nil, err
	}
	from, err := newFiles(objects)
	if err == nil {
		objects, err = choose(objects, q.Objects)
	}
	return objects, from, nil, err
}

// inFiles reads the objects in the files of a query that match its selector.
func (r Reader) inFiles(ctx context.Context, q Query) ([]*unstructured.Unstructured, error) {
	if q.Files.Kustomize != "" && (len(q.Files.Filenames) > 0 || q.Files.Recursive) {
		return nil, errors.New("-k cannot be combined with -f or -R; omit one of them")
	}
	texts, err := ReadTexts(ctx, r.In, q.Files.Filenames, q.Files.Recursive)
	if err != nil {
		return nil, err
	}
	builder := resource.NewLocalBuilder().Unstructured().LabelSelectorParam(q.Selector)
	for _, text := range texts {
		inUTF8 := transform.NewReader(bytes.NewReader(text.Content), unicode.BOMOverride(unicode.UTF8.NewDecoder()))
		builder = builder.Stream(inUTF8, text.Name)
	}
	if len(texts) == 0 && q.Files.Kustomize == "" { // an empty directory
		return nil, nil
	}
	infos, err := builder.FilenameParam(false, &resource.FilenameOptions{Kustomize: q.Files.Kustomize}).Flatten().Do().Infos()
	if err != nil {
		return nil, locate(err, texts)
	}
	return unstructuredOf(infos)
}

// choose returns the objects of files that TYPE/NAME matches, without an API server to resolve types.
func choose(objects []*unstructured.Unstructured, names []string) ([]*unstructured.Unstructured, error) {
	if len(names) == 0 {
		if len(objects) == 0 {
			return nil, errors.New("the files contain no objects; write them with kubectl get -o yaml --show-managed-fields")
		}
		return objects, nil
	}
	kind, name, ok := strings.Cut(names[0], "/")
	if !ok || len(names) > 1 {
		return nil, fmt.Errorf("%s: with -f, name one object as TYPE/NAME", strings.Join(names, " "))
	}
	var chosen []*unstructured.Unstructured
	var contained []string
	for _, o := range objects {
		if o.GetName() == name && isType(o.GroupVersionKind(), strings.ToLower(kind)) {
			chosen = append(chosen, o)
		}
		contained = append(contained, nameOf(o.GroupVersionKind(), o.GetName()))
	}
	if chosen == nil {
		return nil, fmt.Errorf("%s not found in the files; they contain %s", names[0], strings.Join(contained, ", "))
	}
	return chosen, nil
}

// isType reports whether a word is the singular or plural name of a kind, with or without its group.
func isType(kind schema.GroupVersionKind, word string) bool {
	word, group, qualified := strings.Cut(word, ".")
	singular := strings.ToLower(kind.Kind)
	return (word == singular || word == singular+"s" || word == singular+"es") && (!qualified || group == kind.Group)
}

// files is the origin of objects in files.
type files struct {
	objects []*unstructured.Unstructured
	crds    []apiextensionsv1.CustomResourceDefinition
}

func newFiles(objects []*unstructured.Unstructured) (*files, error) {
	f := &files{objects: objects}
	for _, o := range objects {
		if o.GroupVersionKind().GroupKind() != crdKind() {
			continue
		}
		crd, err := convert[apiextensionsv1.CustomResourceDefinition](o)
		if err != nil {
			return nil, err
		}
		f.crds = append(f.crds, *crd)
	}
	return f, nil
}

func crdKind() schema.GroupKind {
	return schema.GroupKind{Group: apiextensionsv1.GroupName, Kind: "CustomResourceDefinition"}
}

// get implements origin. Without a namespace, the name must be unique.
func (f *files) get(_ context.Context, id Identity, namespace string) (found *unstructured.Unstructured, err error) {
	namespace = cmp.Or(id.Namespace, namespace)
	for _, o := range f.objects {
		same := o.GroupVersionKind().GroupKind() == id.Kind.GroupKind() && o.GetName() == id.Name
		if !same || namespace != "" && o.GetNamespace() != "" && o.GetNamespace() != namespace {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("%s: the files contain it in namespaces %s and %s; select one with -n",
				id, found.GetNamespace(), o.GetNamespace())
		}
		found = o
	}
	return found, nil
}

// list implements origin. A kind of which the files contain no object may be installed nevertheless. That is a gap only for
// HorizontalPodAutoscalers, because most clusters do not have the others, but their managers then count by their names.
func (f *files) list(
	_ context.Context, kind schema.GroupKind, namespace string, visit func(*unstructured.Unstructured) error,
) (read access, err error) {
	for _, o := range f.objects {
		if o.GroupVersionKind().GroupKind() != kind {
			continue
		}
		read.complete = true
		if namespace == "" || o.GetNamespace() == namespace {
			if err := visit(o); err != nil {
				return read, err
			}
		}
	}
	if kind == hpaKind() && !read.complete {
		read.because, read.remedy = ", because the files contain none", "if there are any, add them: kubectl get hpa -o yaml"
	}
	return read, nil
}

// scaleField implements origin.
func (f *files) scaleField(_ context.Context, kind schema.GroupVersionKind) (scaleField, error) {
	field := scaleFieldOf(f.crds, kind)
	if !builtin(kind.Group) && !slices.ContainsFunc(f.crds, defines(kind.GroupKind())) {
		field.gap = fmt.Sprintf("unknown which field an autoscaler sets; add the CustomResourceDefinition of %s to the files", kind.Kind)
	}
	return field, nil
}

func defines(kind schema.GroupKind) func(apiextensionsv1.CustomResourceDefinition) bool {
	return func(crd apiextensionsv1.CustomResourceDefinition) bool {
		return crd.Spec.Group == kind.Group && crd.Spec.Names.Kind == kind.Kind
	}
}

// scalable implements origin.
func (f *files) scalable(kind schema.GroupKind) (scales, known bool) {
	scales, known = scale.Known(kind.Group, kind.Kind) != nil, builtin(kind.Group)
	for i := range f.crds {
		if !defines(kind)(f.crds[i]) {
			continue
		}
		known = true
		for _, version := range f.crds[i].Spec.Versions {
			scales = scales || version.Subresources != nil && version.Subresources.Scale != nil
		}
	}
	return scales, known
}

// builtin reports whether a group belongs to Kubernetes. Other groups have their own domain.
func builtin(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

// stdin is the name of standard input in messages.
const stdin = "standard input"

// Text is the text of a file.
type Text struct {
	// Name is the name or URL of the file.
	Name    string
	Content []byte
}

// ReadTexts reads files, the files that a pattern matches, the files in directories with an extension that kubectl reads, URLs and,
// for "-", in. If recursive is set, it also reads the directories in directories. The error is one line that includes a remedy.
func ReadTexts(ctx context.Context, in io.Reader, names []string, recursive bool) ([]Text, error) {
	var texts []Text
	for _, name := range names {
		var err error
		switch {
		case name == "-":
			var content []byte
			content, err = io.ReadAll(in)
			texts = append(texts, Text{stdin, content})
		case strings.HasPrefix(name, "http://"), strings.HasPrefix(name, "https://"):
			var content []byte
			content, err = download(ctx, name)
			texts = append(texts, Text{name, content})
		default:
			var read []Text
			read, err = readPath(name, recursive)
			texts = append(texts, read...)
		}
		if err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// readPath reads a file, the files in a directory, or those that a pattern matches.
func readPath(name string, recursive bool) (texts []Text, err error) {
	matches, _ := filepath.Glob(name) // a malformed pattern is the name of a file
	if _, err := os.Stat(name); err != nil && len(matches) > 0 {
		for _, match := range matches {
			read, err := readPath(match, recursive)
			if err != nil {
				return nil, err
			}
			texts = append(texts, read...)
		}
		return texts, nil
	}
	visitors, err := resource.ExpandPathsToFileVisitors(nil, name, recursive, resource.FileExtensions, nil)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("the path %q does not exist; check the path, or use - for standard input", name)
	}
	if err != nil {
		return nil, err
	}
	for _, visitor := range visitors {
		if file, ok := visitor.(*resource.FileVisitor); ok {
			content, err := os.ReadFile(file.Path)
			if err != nil {
				return nil, err
			}
			texts = append(texts, Text{file.Path, content})
		}
	}
	return texts, nil
}

func download(ctx context.Context, url string) (content []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: the server responded with %s; check the URL", url, response.Status)
	}
	return io.ReadAll(response.Body)
}

// locate returns an error of files with its position in the file. The parser counts lines from the start of a YAML document, and
// its error for a document without a kind quotes the whole document.
func locate(err error, texts []Text) error {
	line := strings.Join(strings.Fields(err.Error()), " ")
	if before, _, found := strings.Cut(line, " is missing in "); found {
		return fmt.Errorf("%s is missing; the files must contain objects, as written by kubectl get -o yaml",
			strings.TrimPrefix(before, "error: "))
	}
	line = ParserText(err)
	found := regexp.MustCompile(`^(?:error: )?error parsing (.+?): `).FindStringSubmatch(line)
	isIn := func(text Text) bool { return len(found) > 1 && text.Name == found[1] }
	at := slices.IndexFunc(texts, isIn)
	if at < 0 {
		return errors.New(strings.TrimPrefix(line, "error: "))
	}
	for documents := yaml.NewDecoder(bytes.NewReader(texts[at].Content)); ; {
		switch err := documents.Decode(new(yaml.Node)); {
		case errors.Is(err, io.EOF):
			return errors.New(line)
		case err != nil:
			return fmt.Errorf("%s: %s; fix the file", found[1], ParserText(err))
		}
	}
}

// ParserText returns a parser's error as one line, without the parts that it quotes from the file. The file can contain a Secret,
// and YAML parses a password that begins with an asterisk as the name of an alias.
func ParserText(err error) string {
	line := strings.TrimPrefix(strings.Join(strings.Fields(err.Error()), " "), "yaml: ")
	// kyaml appends the node that it could not use.
	for _, before := range []string{": value: {", "node contents:", ": node:"} {
		line, _, _ = strings.Cut(line, before)
	}
	for _, quoted := range []string{
		"`[^`]*`",             // cannot unmarshal !!str `hunter2` into …
		`'[^']*'`,             // unknown anchor 'hunter2' referenced
		`![^ ]*[^ !,:;]`,      // a tag
		`invalid map key: .*`, // … map[interface {}]interface {}{"hunter2":…}
		`strconv\.[A-Za-z]+: parsing "(\\.|[^"])*"`, // … parsing "hunter2"
		`parsing time .*`,             // … as "2006-01-02T15:04:05Z07:00"
		`number [^ ]*[0-9][^ ]* into`, // cannot unmarshal number 1234 into …
	} {
		line = regexp.MustCompile(quoted).ReplaceAllStringFunc(line, func(found string) string {
			if len(found) == 3 && found[0] == '\'' && strings.ContainsAny(found[1:2], ",-:?[]{}") {
				return found // the parser's own: did not find expected ',' or ']'
			}
			if first, _, more := strings.Cut(found, " "); more && found[0] != '\'' && found[0] != '`' {
				return first + " " + hiddenText
			}
			return hiddenText
		})
	}
	return line
}
