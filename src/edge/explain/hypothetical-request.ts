import type { ClientCertificate, Permit, TrafficRequest } from '../../modules/contract/decides.ts';
import type { ClientSide } from '../connections/client-side.ts';
import type { ConnectionFacts } from '../connections/connection-facts.ts';
import { ReceivedRequest } from '../exchange/received-request.ts';
import type { ForwardableRequest, ForwardingRuntime } from '../forwarding/forwarded-request.ts';
import type { RequestHead } from '../http/request-head.ts';
import { explainedTrace } from './explained-trace.ts';

/** As long as a real one, and never given to one. */
const EXPLAINED_ID = `rq_${'0'.repeat(27)}`;

export interface HypotheticalFacts {
  readonly head: RequestHead;
  readonly address: string;
  readonly clientAddress: string;
  readonly clientCertificate: ClientCertificate | null;
  readonly nowMs: number;
  readonly runtime: ForwardingRuntime;
}

/** A request that nobody has sent, as modules see it: its body is empty, and nothing waits for its response. */
export class HypotheticalRequest extends ReceivedRequest implements TrafficRequest {
  readonly id = EXPLAINED_ID;
  readonly nowMs: number;
  readonly clientAddress: string;
  readonly runtime: ForwardingRuntime;
  readonly scheme: 'http' | 'https';
  readonly trace: NonNullable<ForwardableRequest['trace']> | null;
  bytesIn = 0;
  readonly tunnelNode = null;
  readonly counter = null;
  permit: Permit | null = null;
  isExemptFromLogin = false;

  constructor({ head, address, clientAddress, clientCertificate, nowMs, runtime }: HypotheticalFacts) {
    const connection: ConnectionFacts = {
      serverName: '',
      edgeId: '',
      tlsGeneration: '',
      tlsVersion: 'TLSv1.3',
      clientAuthorities: [],
      remoteAddress: address,
      isFromProxy: false,
      clientCertificate,
      retire: () => {},
    };
    const client = { head, source: null, trailers: () => [], isBodyWhole: () => true };
    // Modules and the forwarded request read only what is here: a request without a body has nothing to write to.
    super(connection, client as unknown as ClientSide);
    this.nowMs = nowMs;
    this.clientAddress = clientAddress;
    this.runtime = runtime;
    this.scheme = runtime.scheme;
    this.trace = runtime.isTraced === true ? explainedTrace(head.headers) : null;
  }
}
