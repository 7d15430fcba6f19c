import { type ListenAddress, parseListenAddress } from '../../../../kit/net/listen-address.ts';

/** The server of an option, with port 53 unless it has one. An IPv6 address with a port has brackets. */
export function primaryServer(text: string): ListenAddress | null {
  return parseListenAddress(text) ?? parseListenAddress(`${text}:53`) ?? parseListenAddress(`[${text}]:53`);
}
