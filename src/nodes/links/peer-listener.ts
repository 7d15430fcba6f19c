import { constants } from 'node:crypto';
import { createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import {
  closing,
  ignoreErrors,
  type ListenerOwner,
  listen,
  listenPer,
  reporting,
} from '../../lib/guarded-listeners.ts';
import { Handshakes } from '../../lib/net/handshakes.ts';
import { certifiedNode } from '../../pki/certified-node.ts';
import type { NodeIdentity } from './node-identity.ts';
import { PEER_ALPN } from './peer-protocol.ts';

const HANDSHAKE_TIMEOUT_MS = 5_000;
/** Strangers must not crowd nodes out: the oldest handshake is dropped. */
const MAX_HANDSHAKES = 200;

export interface PeerListenerOptions {
  readonly identity: NodeIdentity;
  /** The certificate is of the authority and names the node `nodeId`. The caller decides whether it may connect. */
  readonly onConnection: (socket: TLSSocket, nodeId: string) => void;
  readonly onRejected: (fields: { readonly ip: string | null; readonly why: string }) => void;
}

/** Returns a TCP server that does not listen yet. */
export function createPeerListener({ identity, onConnection, onRejected }: PeerListenerOptions): Server {
  const server = createServer({
    ...identity.contextOptions,
    requestCert: true,
    rejectUnauthorized: true,
    ALPNProtocols: [PEER_ALPN],
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    // Every connection proves its certificate.
    secureOptions: constants.SSL_OP_NO_TICKET,
  });
  identity.onRenewed = () =>
    server.setSecureContext({ ...identity.contextOptions, secureOptions: constants.SSL_OP_NO_TICKET });
  const handshakes = new Handshakes(MAX_HANDSHAKES);
  const ownerOf = (socket: Socket): ListenerOwner => closing(socket, 'peer listener');
  listenPer(server, 'secureConnection', ownerOf, (socket: TLSSocket) => {
    const ip = handshakes.ended(socket);
    ignoreErrors(socket);
    const nodeId = certifiedNode(socket.getPeerX509Certificate() ?? { subjectAltName: undefined });
    if (ip !== null && socket.authorized && socket.alpnProtocol === PEER_ALPN && nodeId !== null) {
      onConnection(socket, nodeId);
      return;
    }
    socket.destroy();
    onRejected({ ip, why: nodeId === null ? 'the certificate names no node' : 'it does not speak the peer protocol' });
  });
  listen(server, 'tlsClientError', reporting('peer listener'), (error: Error, socket: TLSSocket) => {
    onRejected({ ip: handshakes.ended(socket), why: error.message });
    socket.destroy();
  });
  const listener = createTcpServer();
  listenPer(listener, 'connection', ownerOf, (socket: Socket) => {
    ignoreErrors(socket);
    handshakes.began(socket);
    server.emit('connection', socket);
  });
  return listener;
}
