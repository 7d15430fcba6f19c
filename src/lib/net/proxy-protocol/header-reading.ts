/** Who connected to the proxy, as its header says. An IPv4 address inside IPv6 is written as IPv4. */
export interface ProxiedSource {
  readonly address: string;
  readonly port: number;
}

/**
 * Stable values for metrics and log. `missing`: the bytes are those of another protocol. `unsupported`: a command or a
 * kind of address that this version of the protocol does not have.
 */
export type HeaderProblem = 'missing' | 'malformed' | 'too_large' | 'unsupported' | 'checksum';

export type HeaderReading =
  | { readonly state: 'more' }
  /** `source` is null when the proxy speaks for itself or does not know: the connection's own address counts. */
  | { readonly state: 'done'; readonly source: ProxiedSource | null; readonly length: number }
  | { readonly state: 'refused'; readonly problem: HeaderProblem; readonly message: string };

export const MORE: HeaderReading = { state: 'more' };

export function refused(problem: HeaderProblem, message: string): HeaderReading {
  return { state: 'refused', problem, message };
}
