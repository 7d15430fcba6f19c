import type { Flag, FlagKind } from '../../../lib/flags.ts';
import type { CommandField, CommandForm } from '../../../modules/command-form.ts';
import { moduleForms } from './module-forms.ts';

export type PublishedProto = 'http' | 'tcp' | 'tls';

const KINDS: Readonly<Record<CommandField['kind'], FlagKind>> = {
  text: 'text',
  list: 'list',
  boolean: 'switch',
  integer: 'number',
  number: 'number',
};

/** The flags of every module, or of these, that a tunnel of the protocol can have. */
export function moduleFlags(proto: PublishedProto, isMeant: (module: string) => boolean = () => true): readonly Flag[] {
  return moduleForms()
    .filter((form) => goesWith(form, proto) && isMeant(form.module))
    .flatMap(flagsOf);
}

/** Names of the flags whose values may be secrets that the agent sends to its server: a header may hold a credential. */
export function secretFlags(): readonly string[] {
  return moduleForms().flatMap(({ shape, fields }) =>
    fields.flatMap(({ name, flag, isSecret }) => {
      const isSent = isSecret === true || (shape === 'map' && name === 'add');
      return isSent && flag !== undefined ? [flag.name] : [];
    }),
  );
}

/** A tunnel of http is published on https, on http or on both. */
export function goesWith({ protocols }: Pick<CommandForm, 'protocols'>, proto: PublishedProto): boolean {
  return protocols.includes(proto) || (proto === 'http' && protocols.includes('https'));
}

/** The flag that represents the module in messages. */
export function leadingFlag({ flag, fields }: CommandForm): string {
  return `--${flag?.name ?? fields.find((field) => field.flag !== undefined)?.flag?.name ?? ''}`;
}

function flagsOf({ flag, bare, fields }: CommandForm): readonly Flag[] {
  const own = [flag, bare?.flag].flatMap((each): readonly Flag[] =>
    each === undefined ? [] : [{ ...each, kind: 'switch' }],
  );
  return [...own, ...fields.flatMap((field) => flagOf(field) ?? [])];
}

function flagOf({ flag, kind, isCertificateFile, isRepeated, isSecret }: CommandField): Flag | null {
  if (flag === undefined) return null;
  const isFile = isCertificateFile === true;
  return {
    ...flag,
    // A file name may contain a comma.
    kind: isFile || isRepeated === true ? 'repeated' : KINDS[kind],
    ...(isFile && { isFile }),
    ...(isSecret && { isSecret }),
  };
}
