import { readFileSync } from 'node:fs';
import type { CommandForm } from '../../../modules/command-form.ts';

const FORMS_URL = new URL('../generated/module-forms.json', import.meta.url);

/**
 * Forms of the modules that agents can request, read from a generated file: loading the modules would delay every
 * command. `npm run check` compares the file with the registry.
 */
export function moduleForms(): readonly CommandForm[] {
  forms ??= JSON.parse(readFileSync(FORMS_URL, 'utf8')) as readonly CommandForm[];
  return forms;
}

let forms: readonly CommandForm[] | undefined;
