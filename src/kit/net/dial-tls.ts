import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { attach, closing, guarded, ignoreErrors } from '../guarded-listeners.ts';

export interface TlsDial<Problem> {
  /** Names the dial in reports of bugs. */
  readonly part: string;
  readonly options: ConnectionOptions & { readonly autoSelectFamily: boolean };
  readonly timeoutMs: number;
  /** What is wrong with the other end of a connection; null: it is the one that was dialled. */
  check(socket: TLSSocket): Problem | null;
  failed(error: unknown, socket: TLSSocket): Problem;
  closed(): Problem;
  late(): Problem;
}

/** Either the socket or the problem is null. */
export type DialHandler<Problem> = (socket: TLSSocket | null, problem: Problem | null) => void;

/** Connects, and returns a function that cancels the attempt; after cancelling, the handler is not called. */
export function dialTls<Problem>(dial: TlsDial<Problem>, handler: DialHandler<Problem>): () => void {
  const socket = connect(dial.options);
  const owner = closing(socket, dial.part);
  const end = (): void => {
    clearTimeout(timer);
    socket.off('secureConnect', onReady).off('error', onError).off('close', onClose);
  };
  const cancel = (): void => {
    end();
    ignoreErrors(socket).destroy();
  };
  const fail = (problem: Problem): void => {
    cancel();
    handler(null, problem);
  };
  const onReady = guarded(owner, () => {
    const problem = dial.check(socket);
    if (problem !== null) {
      fail(problem);
      return;
    }
    end();
    handler(socket, null);
  });
  const onError = guarded(owner, (error: unknown) => fail(dial.failed(error, socket)));
  const onClose = guarded(owner, () => fail(dial.closed()));
  const onTimeout = guarded(owner, () => fail(dial.late()));
  const timer = setTimeout(onTimeout, dial.timeoutMs);
  attach(socket, 'secureConnect', onReady);
  attach(socket, 'error', onError);
  attach(socket, 'close', onClose);
  return cancel;
}
