import {
  type Metadata,
  makeGenericClientConstructor,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerReadableStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js';
import type { Issued } from '../../edge/tls/test-authority.ts';
import type { Cleanup } from '../cleanup.ts';

const bytes = (value: Buffer): Buffer => value;

function method(name: string, requestStream: boolean, responseStream: boolean) {
  return {
    path: `/test.Echo/${name}`,
    requestStream,
    responseStream,
    requestSerialize: bytes,
    requestDeserialize: bytes,
    responseSerialize: bytes,
    responseDeserialize: bytes,
  };
}

/** Messages are raw bytes, so no protobuf is needed. */
export const echoService = {
  unary: method('Unary', false, false),
  fail: method('Fail', false, false),
  never: method('Never', false, false),
  collect: method('Collect', true, false),
  repeat: method('Repeat', false, true),
  chat: method('Chat', true, true),
} satisfies ServiceDefinition;

export const EchoClient = makeGenericClientConstructor(echoService, 'test.Echo');

export interface GrpcUpstream {
  readonly address: string;
  /** Metadata of the calls so far. */
  readonly metadata: readonly Metadata[];
  /** Resolves when the client cancels the next call of `never` or `repeat`. */
  nextCancelled(): Promise<void>;
  /** Resolves when the next call of `never` has arrived. */
  nextBegun(): Promise<void>;
}

type Unary = ServerUnaryCall<Buffer, Buffer>;
type Done = sendUnaryData<Buffer>;

/** Without a certificate it uses HTTP/2 without TLS. */
export async function grpcUpstream(test: Cleanup, certificate: Issued | null): Promise<GrpcUpstream> {
  const metadata: Metadata[] = [];
  const waiting: (() => void)[] = [];
  const begun: (() => void)[] = [];
  const server = new Server({ 'grpc.max_receive_message_length': -1 });
  const cancelled = (): void => waiting.shift()?.();
  server.addService(echoService, {
    unary: (call: Unary, done: Done) => {
      metadata.push(call.metadata);
      const trailers = call.metadata.clone();
      trailers.set('x-trailer', 'at the end');
      const head = call.metadata.clone();
      head.set('x-head', 'at the beginning');
      call.sendMetadata(head);
      done(null, call.request, trailers);
    },
    fail: (call: Unary, done: Done) => {
      const trailers = call.metadata.clone();
      trailers.set('x-why-bin', Buffer.from([0, 255, 1]));
      done({ code: status.FAILED_PRECONDITION, details: 'not like this: \u00fc%', metadata: trailers });
    },
    never: (call: Unary) => {
      call.on('cancelled', cancelled);
      begun.shift()?.();
    },
    collect: (call: ServerReadableStream<Buffer, Buffer>, done: Done) => {
      const parts: Buffer[] = [];
      call.on('data', (part: Buffer) => parts.push(part)).on('end', () => done(null, Buffer.concat(parts)));
    },
    repeat: (call: ServerWritableStream<Buffer, Buffer>) => {
      call.on('cancelled', cancelled);
      const [word = '', times = '0'] = call.request.toString().split(' ');
      for (let n = 0; n < Number(times); n += 1) call.write(Buffer.from(`${word} ${n}`));
      if (times !== '1') call.end();
    },
    chat: (call: ServerDuplexStream<Buffer, Buffer>) => {
      call.on('data', (part: Buffer) => call.write(part)).on('end', () => call.end());
    },
  });
  const credentials =
    certificate === null
      ? ServerCredentials.createInsecure()
      : ServerCredentials.createSsl(null, [
          { cert_chain: Buffer.from(certificate.certificatePem), private_key: Buffer.from(certificate.keyPem) },
        ]);
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', credentials, (error, bound) => (error === null ? resolve(bound) : reject(error)));
  });
  test.after(async () => server.forceShutdown());
  return {
    address: `localhost:${port}`,
    metadata,
    nextCancelled: () => new Promise((resolve) => waiting.push(resolve)),
    nextBegun: () => new Promise((resolve) => begun.push(resolve)),
  };
}
