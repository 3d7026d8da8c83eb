// Declares the parts of the package `sanity` used by the definitions. A Sanity project has the
// full package; `make studio` uses the small package @sanity/types and these declarations.
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
