import type { InstallationDocuments } from '../../../control/configuration-file/installed-objects.ts';
import { validateConfiguration } from '../../../control/configuration-file/read-configuration.ts';
import { writeConfigurationFile } from '../../../control/configuration-file/write-configuration-file.ts';
import { withParts } from '../../../kit/load-part.ts';
import type { Imported, ImportReport } from './import-report.ts';

/** Documents as a configuration file. What the file cannot have, and what "postern validate" rejects, is reported. */
export async function writtenConfiguration(
  documents: InstallationDocuments,
  origin: string,
  report: ImportReport,
): Promise<Imported> {
  const { text, secrets, omitted } = writeConfigurationFile(documents, {
    header: [`Imported from ${origin} by "postern import"`],
  });
  for (const { place, why } of omitted) report.drop([place], why);
  const problems = await withParts(() => validateConfiguration([{ name: 'file', text }]));
  for (const { line, problem } of problems) {
    report.note(`line ${line} of the file ${problem}`);
  }
  const counts = Object.entries(documents)
    .filter(([, items]) => items.length > 0)
    .map(([key, items]) => `${items.length} ${key.replaceAll('_', ' ')}`);
  return { text, secrets, summary: counts.length === 0 ? 'nothing was found' : counts.join(', ') };
}
