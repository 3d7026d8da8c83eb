import {useEffect, useState} from 'react'
import {useClient, type PreviewProps, type SanityClient} from 'sanity'

const icons: Record<string, string> = {projectType: '\u{1F3D7}\uFE0F', feature: '\u{1F9E9}', complexity: '\u{1F9EE}', timeline: '\u{1F4C5}'}

interface Option {
  group?: string
  order?: number
  price?: number
  percent?: number
}

/** An option in a list: its group and position, and its price in the currency of the quote rules. */
export function OptionPreview(props: PreviewProps & Option) {
  const {group, order, price, percent} = props
  const currency = useCurrency()

  const parts = [
    group && [group, order].filter((part) => part != null).join(' '),
    price != null && `${price} ${currency}`.trim(),
    percent != null && `${percent} %`,
  ]
  return props.renderDefault({
    ...props,
    subtitle: parts.filter(Boolean).join(', '),
    media: <span>{icons[group ?? '']}</span>,
  })
}

/** The currency of the quote rules. All options of a list share one request. */
const currencies = new WeakMap<SanityClient, Promise<string | null>>()

function useCurrency() {
  const client = useClient({apiVersion: '2025-02-19'})
  const [currency, setCurrency] = useState('')

  useEffect(() => {
    const known = currencies.get(client) ?? client.fetch<string | null>('*[_id == "quoteRules"][0].currency')
    currencies.set(client, known)
    known.then((code) => setCurrency(code ?? ''), () => currencies.delete(client))
  }, [client])
  return currency
}
