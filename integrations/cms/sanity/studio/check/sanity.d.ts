// Declares the parts of the package `sanity` used by the definitions. A Sanity project has the
// full package; `make studio` uses the small package @sanity/types and these declarations.
import type {SanityClient} from '@sanity/client'
import type {SchemaTypeDefinition} from '@sanity/types'
import type {ComponentType, ReactElement, ReactNode} from 'react'

export * from '@sanity/types'

declare module '@sanity/types' {
  interface DocumentDefinition {
    components?: {preview?: ComponentType<any>}
  }
}
export type {SanityClient} from '@sanity/client'

export interface PreviewProps {
  title?: ReactNode
  subtitle?: ReactNode
  media?: ReactNode
  renderDefault: (props: PreviewProps) => ReactElement
}

export function useClient(options: {apiVersion: string}): SanityClient

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
