import { contract } from './contract.js';
import { RealPlace } from './place.js';

contract('on the real disk', () => new RealPlace());
