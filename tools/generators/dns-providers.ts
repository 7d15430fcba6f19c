import type { DnsProvider } from '../../src/proxy/dns/dns-provider.ts';
import { dnsProviders } from '../../src/proxy/dns/providers/registry.ts';

export const name = 'dns-providers';

const PATH = 'docs/reference/dns-providers.md';
const secret = (from: string): string => `\`$\{${from}}\``;

/** The options of the setting `acme_dns`. */
export function generate(): Promise<Map<string, string>> {
  return Promise.resolve(new Map([[PATH, page()]]));
}

function page(): string {
  return `# DNS providers

<!-- Generated from src/proxy/dns/providers by "npm run generate". Do not edit. -->

[\`acme_dns\`](configuration.md#acme_dns) is a map from a zone to its provider and the options of the provider. [Get wildcard certificates](../how-to/get-wildcard-certificates.md) shows its use. An option that is a secret has ${secret('env:NAME')} or ${secret('file:PATH')} as its whole value; a relative path is relative to the working directory of the server, and one line end at the end of the file is removed. A file is read for each change, so a new secret needs no restart. All other options are text.

${dnsProviders.map(section).join('\n')}`;
}

function section({ name: provider, title, options }: DnsProvider): string {
  const rows = Object.entries(options).map(([option, { description, kind, isRequired }]) => {
    const form = kind === 'secret' ? 'secret' : 'text';
    return `| \`${option}\` | ${form}${isRequired ? ', required' : ''} | ${description.replaceAll('|', '\\|')} |`;
  });
  return `## \`${provider}\`

${title[0]?.toUpperCase()}${title.slice(1)}. See [its notes](../../src/proxy/dns/providers/${provider}/README.md).

| option | | meaning |
|---|---|---|
${rows.join('\n')}
`;
}
