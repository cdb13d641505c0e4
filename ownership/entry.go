package ownership

import "github.com/ownership-handoff/handoff/internal/managedfields"

// Entry is an entry of metadata.managedFields.
type Entry = managedfields.Entry

// ErrManagedFields is returned for managedFields that cannot be read.
var ErrManagedFields = managedfields.ErrUnreadable
