import type { ServerResponse } from 'node:http';
import type { ConnectionFacts } from '../connection-facts.ts';

/** A connection's facts for one request on it: retiring the connection is announced in that request's response. */
export class Http1Facts implements ConnectionFacts {
  readonly serverName: string;
  readonly edgeId: string;
  readonly tlsGeneration: string;
  readonly tlsVersion: string;
  readonly clientAuthorities: readonly string[];
  readonly remoteAddress: string;
  readonly isFromProxy: boolean;
  readonly clientCertificate: ConnectionFacts['clientCertificate'];
  readonly #response: ServerResponse;

  constructor(facts: ConnectionFacts, response: ServerResponse) {
    this.serverName = facts.serverName;
    this.edgeId = facts.edgeId;
    this.tlsGeneration = facts.tlsGeneration;
    this.tlsVersion = facts.tlsVersion;
    this.clientAuthorities = facts.clientAuthorities;
    this.remoteAddress = facts.remoteAddress;
    this.isFromProxy = facts.isFromProxy;
    this.clientCertificate = facts.clientCertificate;
    this.#response = response;
  }

  retire(): void {
    // Afterwards it is too late, and the runtime throws.
    if (!this.#response.headersSent) this.#response.setHeader('connection', 'close');
  }
}
