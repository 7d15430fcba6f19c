import type { ReadStream } from 'node:tty';
import { usage } from '../../kit/flags.ts';
import { createTextSource } from './api/text-source.ts';
import type { CommandContext } from './command.ts';

export const PASSPHRASE_FLAG = 'passphrase-file';
const PASSPHRASE_VARIABLE = 'POSTERN_BACKUP_PASSPHRASE';
const MIN_LENGTH = 12;

export interface PassphraseRequest {
  readonly flags: ReadonlyMap<string, string>;
  readonly context: CommandContext;
  /** A new passphrase must be entered twice and be long; an existing one is accepted as it is. */
  readonly isNew: boolean;
}

/** From the flag's file, from the variable, or from the terminal without echo. */
export async function readPassphrase({ flags, context, isNew }: PassphraseRequest): Promise<string> {
  const passphrase = (await fromOutside(flags, context)) ?? (await fromTerminal(isNew));
  if (isNew && passphrase.length < MIN_LENGTH)
    throw usage(`the passphrase must have at least ${MIN_LENGTH} characters`);
  return passphrase;
}

async function fromOutside(flags: ReadonlyMap<string, string>, { env }: CommandContext): Promise<string | null> {
  const file = flags.get(PASSPHRASE_FLAG);
  // Editors and echo append a line break.
  if (file !== undefined) return (await createTextSource().read(file, PASSPHRASE_FLAG)).replace(/\r?\n$/, '');
  const variable = env[PASSPHRASE_VARIABLE];
  return variable === undefined || variable === '' ? null : variable;
}

async function fromTerminal(isNew: boolean): Promise<string> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw usage(`a passphrase is required: use --${PASSPHRASE_FLAG} FILE or ${PASSPHRASE_VARIABLE}`);
  }
  return isNew ? askTwiceUnseen('Passphrase') : askUnseen('Passphrase: ', process.stdin);
}

/** A new secret from the terminal, without echo. The caller knows that there is a terminal. */
export async function askTwiceUnseen(name: 'Passphrase' | 'Password'): Promise<string> {
  const typed = await askUnseen(`${name}: `, process.stdin);
  const noun = name.toLowerCase();
  if ((await askUnseen(`Repeat the ${noun}: `, process.stdin)) !== typed) throw usage(`the two ${noun}s differ`);
  return typed;
}

/** Raw mode does not echo, so this handles line editing: end of line, erase, cancel. */
function askUnseen(question: string, input: ReadStream): Promise<string> {
  // Before the question: what is pasted as soon as it shows must not be echoed.
  input.setRawMode(true).setEncoding('utf8').resume();
  process.stderr.write(question);
  return new Promise((resolve, reject) => {
    let typed = '';
    const finish = (settle: () => void) => {
      input.setRawMode(false).pause().off('data', onData);
      process.stderr.write('\n');
      settle();
    };
    const onData = (text: string) => {
      for (const character of text) {
        if (character === '\r' || character === '\n') return finish(() => resolve(typed));
        if (character === '\u0003' || character === '\u0004') return finish(() => reject(usage('given up')));
        typed = character === '\u007f' || character === '\b' ? typed.slice(0, -1) : typed + character;
      }
    };
    input.on('data', onData);
  });
}
