import { formatListenAddress, isWildcardHost, type ListenAddress } from '../lib/net/listen-address.ts';

/** The API's address as clients on this machine dial it: a wildcard listener has none of its own. */
export function derivedBaseUrl({ host, port }: ListenAddress, isTls: boolean): string {
  const dialled = isWildcardHost(host) ? 'localhost' : host;
  return `${isTls ? 'https' : 'http'}://${formatListenAddress({ host: dialled, port })}`;
}
