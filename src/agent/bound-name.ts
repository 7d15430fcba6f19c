/** The name that a tunnel had, as far as it can be requested again. */
export interface BoundName {
  readonly domain?: string;
  readonly port?: number;
}

export function boundName(url: string | null, proto: string | null): BoundName {
  if (url === null || !URL.canParse(url)) return {};
  const { hostname, port } = new URL(url);
  if (proto === 'tcp') return port === '' ? {} : { port: Number(port) };
  return proto === null || hostname === '' ? {} : { domain: hostname };
}
