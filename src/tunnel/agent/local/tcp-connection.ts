import type { ServerHttp2Stream } from 'node:http2';
import { connect } from 'node:net';
import { messageOf } from '../../../kit/error-text.ts';
import {
  attach,
  guarded,
  ignoreErrors,
  type ListenerOwner,
  listenOnce,
  reportBug,
} from '../../../kit/guarded-listeners.ts';
import { localhostLookup } from '../../../kit/net/lookups.ts';
import { noticeVanished, splice } from '../../../kit/net/sockets.ts';
import { reasonOf } from '../../../proxy/upstream/upstream-failure.ts';
import type { LocalAddress } from './local-address.ts';
import { answerFailure, problemText } from './local-failure.ts';
import { LOCAL_LIMITS } from './local-service.ts';

export interface TcpObserver {
  onOpened(): void;
  /** Called once if the connection was opened. */
  onClosed(problem: string | null): void;
  /** Called instead of the other two. */
  onFailed(problem: string): void;
}

/** Carries a client's TCP or TLS connection unchanged to the local service. */
export function openTcpConnection(stream: ServerHttp2Stream, address: LocalAddress, observer: TcpObserver): void {
  const { host, port, hostport } = address;
  const socket = connect({
    host,
    port,
    lookup: localhostLookup,
    noDelay: true,
    autoSelectFamily: true,
    allowHalfOpen: true,
  });
  const owner: ListenerOwner = {
    contain: (error) => {
      stream.destroy();
      socket.destroy();
      reportBug(error, { part: 'local TCP connection' });
    },
  };
  const fail = (reason: string, message: string): void => {
    clearTimeout(timer);
    ignoreErrors(socket).off('error', onError);
    socket.destroy();
    stream.off('close', onGone);
    const failure = { reason, mayHaveBeenSent: false };
    observer.onFailed(problemText(failure, message, hostport));
    answerFailure(stream, failure, hostport);
  };
  const onError = guarded(owner, (error: Error) => fail(reasonOf(error), messageOf(error)));
  const onGone = guarded(owner, () => fail('closed', 'the client went away'));
  const { connectTimeoutMs } = LOCAL_LIMITS;
  const onTimeout = guarded(owner, () => fail('timeout', `no connection within ${connectTimeoutMs} ms`));
  const timer = setTimeout(onTimeout, connectTimeoutMs);
  ignoreErrors(stream);
  attach(stream, 'close', onGone);
  attach(socket, 'error', onError);
  listenOnce(socket, 'connect', owner, () => {
    clearTimeout(timer);
    noticeVanished(socket);
    socket.off('error', onError);
    stream.off('close', onGone);
    // The stream may already be reset, with 'close' still pending.
    if (stream.destroyed || stream.closed) {
      fail('closed', 'the client went away');
      return;
    }
    stream.respond([':status', '200']);
    observer.onOpened();
    splice(stream, socket, owner, (problem) => observer.onClosed(problem));
  });
}
