import { storeConformance } from '../../src/store/conformance/store-conformance.ts';
import { openerOf } from './engines.ts';

storeConformance('SQLite', openerOf('sqlite'));
