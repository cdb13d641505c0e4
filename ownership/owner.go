package ownership

// Owner says what kind of party a field of a live object belongs to.
type Owner int

// The owners, from the one that gives way to everybody to the one that gives way to nobody.
const (
	// Default is a field that the API server set and nobody declared.
	Default Owner = iota
	// Manifest is a field that an applier's manifest set.
	Manifest
	// Imperative is a field that was written outside any manifest, by a person's direct command or by a client that the
	// configuration does not list.
	Imperative
	// Controller is a field that a rule gives to controllers, last written by one.
	Controller
	// Autoscaler is a scale field that an autoscaler targets or has written.
	Autoscaler
)

// Unknown stands for an owner that nothing records: managedFields were taken away, or claims have been put together under
// a name that is nobody's. Only ObjectContext.Fields says so; Context.Resolve, on which decisions are made, never does: see
// docs/decisions.md.
const Unknown Owner = -1

// Other stands for a client that no list of managers names, such as a controller: it is no person. Only ObjectContext.Fields
// says so; a decision counts the client as Imperative.
const Other Owner = -2

// Decided returns the owner that a decision is made on.
func (o Owner) Decided() Owner {
	if o == Other {
		return Imperative
	}
	return o
}

// String returns the owner's word in docs and messages.
func (o Owner) String() string {
	switch o {
	case Default:
		return "Default"
	case Manifest:
		return "Manifest"
	case Imperative:
		return "Imperative"
	case Controller:
		return "Controller"
	case Autoscaler:
		return "Autoscaler"
	case Other:
		return "Other"
	default:
		return "Unknown"
	}
}

// Owned is an answer to "whose field is it".
type Owned struct {
	Owner Owner
	// By names the party: "HorizontalPodAutoscaler/web", or a field manager. Empty for Default, and where nothing records it.
	By string
}

// Writer says for whom a request speaks.
type Writer int

// The writers of a request.
const (
	// OtherWriter is everybody else: controllers, operators, clients that no list names.
	OtherWriter Writer = iota
	// Applier speaks for a manifest.
	Applier
	// ImperativeWriter is a person's direct command.
	ImperativeWriter
)

// String returns the writer's word in docs and messages.
func (w Writer) String() string {
	switch w {
	case Applier:
		return "Applier"
	case ImperativeWriter:
		return "Imperative"
	case OtherWriter:
		return "Other"
	default:
		return "Unknown"
	}
}

// Claim is what a manifest says about a field.
type Claim int

// The claims of a manifest.
const (
	// Lacks: the manifest does not mention the field.
	Lacks Claim = iota
	// Sets: the manifest gives the field a value.
	Sets
	// Clears: the manifest sets the field to null.
	Clears
)

// String returns the claim as the decision table writes it.
func (c Claim) String() string {
	switch c {
	case Lacks:
		return "lacks it"
	case Sets:
		return "sets it"
	case Clears:
		return "null"
	default:
		return "unknown"
	}
}
