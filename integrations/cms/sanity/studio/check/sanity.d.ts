// What the definitions use of the package `sanity`: a project of Sanity has all of it, and
// `make studio` takes the small package @sanity/types and these.
import type {SchemaTypeDefinition} from '@sanity/types'

export * from '@sanity/types'

export interface Template {
  schemaType: string
}

export interface DocumentActionComponent {
  action?: string
}

interface Config {
  projectId: string
  dataset: string
  plugins: {name: string}[]
  schema: {types: SchemaTypeDefinition[]; templates: (templates: Template[]) => Template[]}
  document: {
    actions: (actions: DocumentActionComponent[], context: {schemaType: string}) => DocumentActionComponent[]
  }
}

export function defineConfig(config: Config): Config
