import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';
import type { Cleanup } from './cleanup.ts';
import { RawPeer } from './raw-peer.ts';

export interface RawUpstreamOptions {
  readonly protocol: 'http/1.1' | 'h2';
  /** Over TLS, with ALPN, when given. */
  readonly tls?: { readonly certificatePem: string; readonly keyPem: string };
}

/** A service that responds with arbitrary bytes, on connections that it can break in any way. */
export class RawUpstream {
  readonly protocol: RawUpstreamOptions['protocol'];
  port = 0;
  readonly peers: RawPeer[] = [];
  onPeer: (peer: RawPeer) => void = () => {};
  readonly #waiting: ((peer: RawPeer) => void)[] = [];

  private constructor(protocol: RawUpstreamOptions['protocol']) {
    this.protocol = protocol;
  }

  static async open(test: Cleanup, { protocol, tls }: RawUpstreamOptions): Promise<RawUpstream> {
    const upstream = new RawUpstream(protocol);
    const secureContext = tls === undefined ? null : createSecureContext({ cert: tls.certificatePem, key: tls.keyPem });
    const server = createServer({ allowHalfOpen: true }, (transport) => {
      transport.on('error', () => {});
      const socket: Socket =
        secureContext === null
          ? transport
          : new TLSSocket(transport, { isServer: true, secureContext, ALPNProtocols: [protocol] });
      upstream.#add(new RawPeer(socket, transport, protocol === 'h2' ? 'server' : null));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    upstream.port = (server.address() as AddressInfo).port;
    test.after(async () => {
      upstream.disconnect();
      await new Promise((resolve) => server.close(resolve));
    });
    return upstream;
  }

  /** The next connection. */
  next(timeoutMs = 30_000): Promise<RawPeer> {
    const { promise, resolve, reject } = Promise.withResolvers<RawPeer>();
    const timer = setTimeout(() => reject(new Error('no connection came to the upstream')), timeoutMs);
    this.#waiting.push((peer) => {
      clearTimeout(timer);
      resolve(peer);
    });
    return promise;
  }

  disconnect(): void {
    for (const peer of this.peers.splice(0)) peer.destroy();
  }

  #add(peer: RawPeer): void {
    this.peers.push(peer);
    peer.socket.once('close', () => {
      const at = this.peers.indexOf(peer);
      if (at !== -1) this.peers.splice(at, 1);
    });
    this.onPeer(peer);
    this.#waiting.shift()?.(peer);
  }
}
