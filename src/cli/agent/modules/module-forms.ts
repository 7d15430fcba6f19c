import { readProgramFile } from '../../../lib/program-files.ts';
import type { CommandForm } from '../../../modules/command-form.ts';

/**
 * Forms of the modules that agents can request, read from a generated file: loading the modules would delay every
 * command. `npm run check` compares the file with the registry.
 */
export function moduleForms(): readonly CommandForm[] {
  forms ??= JSON.parse(readProgramFile('cli/agent/generated/module-forms.json')) as readonly CommandForm[];
  return forms;
}

let forms: readonly CommandForm[] | undefined;
