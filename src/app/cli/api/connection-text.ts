import type { PosternApiError, PosternConnectionError } from '../../../client/call-errors.ts';
import type { CommandContext } from '../command.ts';
import { printable } from '../output/cell-text.ts';

const OTHER_ADDRESS = 'name another address with --api-url or POSTERN_CLI_API_URL';
const STRANGER = 'Check the address: --api-url or POSTERN_CLI_API_URL names the server';
const FIRST_SERVER_ERROR = 500;

const ADVICE: Readonly<Record<string, string>> = {
  ECONNREFUSED: `Start the server, or ${OTHER_ADDRESS}`,
  ENOTFOUND: `Check its spelling and its DNS record, or ${OTHER_ADDRESS}`,
  EAI_AGAIN: 'Check the network and the DNS servers of this machine',
  EHOSTUNREACH: `Check the network, or ${OTHER_ADDRESS}`,
  ENETUNREACH: `Check the network, or ${OTHER_ADDRESS}`,
  ETIMEDOUT: `Check that the server runs and that no firewall drops the connection, or ${OTHER_ADDRESS}`,
};

/** OpenSSL's verification codes have no common prefix. */
const UNTRUSTED = /^(?:CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO)/;

/** What happened to a connection and what to do, the same for all commands: one line. */
export function connectionText(error: PosternConnectionError): string {
  const advice = adviceFor(error);
  return advice === null ? error.message : `${error.message}. ${advice}`;
}

function adviceFor({ failure, code }: PosternConnectionError): string | null {
  if (failure === 'timeout') return ADVICE['ETIMEDOUT'] ?? null;
  if (failure !== 'network' || code === null) return null;
  if (UNTRUSTED.test(code))
    return 'Its certificate is not trusted: pass its CA with --root-ca FILE. "postern ca print" on the server prints it';
  return ADVICE[code] ?? null;
}

/** Null: the server has answered. Otherwise another program has, and only its status is known. */
export function strangerAdvice({ code, status }: PosternApiError): string | null {
  if (!code.startsWith('HTTP_')) return null;
  return status < FIRST_SERVER_ERROR
    ? STRANGER
    : 'A proxy in front of the server may have answered: look at its log, and check that the server runs';
}

/** Tells a person once that a command which repeats its requests gets no answer, and once that it does again. */
export class Retried {
  readonly #context: CommandContext;
  #said: string | null = null;

  constructor(context: CommandContext) {
    this.#context = context;
  }

  failed(error: PosternConnectionError): void {
    const text = connectionText(error);
    if (text === this.#said) return;
    this.#said = text;
    this.#context.warn(`postern: ${printable(text)}. Retrying`);
  }

  succeeded(): void {
    if (this.#said !== null) this.#context.warn('postern: the server answers again');
    this.#said = null;
  }
}
