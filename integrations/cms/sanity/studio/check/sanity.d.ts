// What the definitions use of the package `sanity`: a project of Sanity has all of it, and
// `make studio` takes the small package @sanity/types and these.
export * from '@sanity/types'

export interface Template {
  schemaType: string
}

export interface DocumentActionComponent {
  action?: string
}
