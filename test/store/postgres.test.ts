import { storeConformance } from './conformance/store-conformance.ts';
import { openerOf, usePostgres } from './engines.ts';

usePostgres();
storeConformance('PostgreSQL', openerOf('postgres'));
