import type { Transport } from '../../client/transport.ts';

/** A link that signs a browser in to the console once, within ten minutes, with the rights of the API key. */
export async function signInLink(transport: Transport, apiUrl: string): Promise<string> {
  const { text } = await transport.send({ method: 'POST', path: '/console/links' });
  return `${apiUrl}${(JSON.parse(text) as { readonly path: string }).path}`;
}
