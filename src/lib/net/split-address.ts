/** Host and port of a checked address; an IPv6 address without its brackets. */
export function splitAddress(address: string): { readonly host: string; readonly port: number } {
  const separator = address.lastIndexOf(':');
  return { host: address.slice(0, separator).replace(/^\[|\]$/g, ''), port: Number(address.slice(separator + 1)) };
}

/** The host of a `host:port` as it is written. */
export function hostOf(hostport: string): string {
  const separator = hostport.lastIndexOf(':');
  return separator === -1 ? hostport : hostport.slice(0, separator);
}
