// Package layout tests what the packages of this module may import: imports go down one way.
package layout
