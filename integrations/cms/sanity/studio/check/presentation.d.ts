// Declares the parts of `sanity/presentation` used by presentation.ts; see sanity.d.ts.
interface Locations {
  message?: string
  tone?: 'positive' | 'caution' | 'critical'
  locations?: {title: string; href: string}[]
}

interface Resolver<K extends string> {
  select: Record<K, string>
  resolve: (value: Partial<Record<K, string>> | null) => Locations
}

export function defineLocations<K extends string>(locations: Resolver<K> | Locations): Resolver<K> | Locations

export function presentationTool(options: {
  previewUrl: {initial: string; previewMode: {enable: string}}
  allowOrigins: string[]
  resolve: {locations: Record<string, unknown>}
}): {name: string}
