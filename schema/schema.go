// Package schema is the contract of the service: the SDL, one file per feature, the models
// generated from it, and the error codes, input bounds, scalars and the caller, which both
// endpoints share.
package schema
