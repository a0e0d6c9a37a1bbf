BEGIN TRANSACTION;
CREATE TABLE cells (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  changes TEXT NOT NULL,
  config TEXT NOT NULL,
  num_envs INTEGER NOT NULL,
  num_steps INTEGER NOT NULL,
  batch_size INTEGER NOT NULL,
  minibatch_count INTEGER NOT NULL,
  minibatch_size INTEGER NOT NULL,
  update_epochs INTEGER NOT NULL,
  iterations INTEGER NOT NULL,
  environment_steps INTEGER NOT NULL,
  gradient_steps INTEGER NOT NULL,
  samples_per_gradient REAL NOT NULL,
  note TEXT NOT NULL
) STRICT;
INSERT INTO "cells" VALUES(1,'4x32','{"num_envs": "4", "num_steps": "32"}','{"env_id": "CartPole-v1", "total_timesteps": "1024", "num_envs": "4", "num_steps": "32", "stagger_starts": "false", "max_episode_steps": "0", "seed_families": "0", "strata_sampling": "sampled", "curriculum": "", "curriculum_up": "0.8", "curriculum_down": "0.4", "curriculum_episodes": "1", "learning_rate": "0.00025", "lr_schedule": "linear", "desired_kl": "0.01", "adam_eps": "1e-05", "max_grad_norm": "0.5", "gamma": "0.99", "gae_lambda": "0.95", "truncation_mode": "bootstrap", "num_minibatches": "4", "minibatch_size": "0", "update_epochs": "4", "norm_adv": "minibatch", "clip_coef": "0.2", "clip_vloss": "true", "ent_coef": "0.01", "vf_coef": "0.5", "target_kl": "0", "hidden_sizes": "4", "activation": "tanh", "shared_encoder": "false", "log_std_init": "0", "norm_obs": "false", "norm_reward": "false", "clip_obs": "10", "clip_reward": "10", "eval_interval": "0", "eval_episodes": "10", "checkpoint_interval": "10", "keep_checkpoints": "2", "log_interval": "1", "tensorboard": "true", "instruments": "", "instrument_every": "50", "hashes": "false", "isa": "auto", "precision": "fp32", "memory_limit": "0"}',4,32,128,4,32,4,8,1024,128,8.0,'');
INSERT INTO "cells" VALUES(2,'8x16','{"num_envs": "8", "num_steps": "16"}','{"env_id": "CartPole-v1", "total_timesteps": "1024", "num_envs": "8", "num_steps": "16", "stagger_starts": "false", "max_episode_steps": "0", "seed_families": "0", "strata_sampling": "sampled", "curriculum": "", "curriculum_up": "0.8", "curriculum_down": "0.4", "curriculum_episodes": "1", "learning_rate": "0.00025", "lr_schedule": "linear", "desired_kl": "0.01", "adam_eps": "1e-05", "max_grad_norm": "0.5", "gamma": "0.99", "gae_lambda": "0.95", "truncation_mode": "bootstrap", "num_minibatches": "4", "minibatch_size": "0", "update_epochs": "4", "norm_adv": "minibatch", "clip_coef": "0.2", "clip_vloss": "true", "ent_coef": "0.01", "vf_coef": "0.5", "target_kl": "0", "hidden_sizes": "4", "activation": "tanh", "shared_encoder": "false", "log_std_init": "0", "norm_obs": "false", "norm_reward": "false", "clip_obs": "10", "clip_reward": "10", "eval_interval": "0", "eval_episodes": "10", "checkpoint_interval": "10", "keep_checkpoints": "2", "log_interval": "1", "tensorboard": "true", "instruments": "", "instrument_every": "50", "hashes": "false", "isa": "auto", "precision": "fp32", "memory_limit": "0"}',8,16,128,4,32,4,8,1024,128,8.0,'');
CREATE TABLE evaluations (
  run_id INTEGER NOT NULL REFERENCES runs (id),
  global_step INTEGER NOT NULL,
  episodes INTEGER NOT NULL,
  mean_return REAL,
  ci_low REAL,
  ci_high REAL,
  std_return REAL,
  mean_length REAL,
  PRIMARY KEY (run_id, global_step)
) STRICT, WITHOUT ROWID;
INSERT INTO "evaluations" VALUES(1,1024,10,75.1,62.2094502142935,8.79905497857064915461e+01,2.07977028646060908552e+01,75.1);
INSERT INTO "evaluations" VALUES(2,1024,10,38.3,2.80110889465081527296e+01,4.85889110534918415833e+01,1.6600200801998351352e+01,38.3);
INSERT INTO "evaluations" VALUES(3,1024,10,5.29000000000000056852e+01,4.54597408647279053192e+01,6.03402591352721060511e+01,1.20041659435381031784e+01,5.29000000000000056852e+01);
INSERT INTO "evaluations" VALUES(4,1024,10,2.05000000000000035535e+01,1.8765280041812708589e+01,22.2347199581873,2.79880927062444406772e+00,2.05000000000000035535e+01);
INSERT INTO "evaluations" VALUES(5,1024,10,71.2,5.23463802001961582294e+01,9.00536197998038403546e+01,3.04185615848101704723e+01,71.2);
INSERT INTO "evaluations" VALUES(6,1024,10,77.9,5.38072315506176153138e+01,1.01992768449382396054e+02,3.88714405301487246902e+01,77.9);
CREATE TABLE metrics (
  run_id INTEGER NOT NULL,
  key TEXT NOT NULL,
  point INTEGER NOT NULL,
  value REAL NOT NULL,
  PRIMARY KEY (run_id, key, point),
  FOREIGN KEY (run_id, point) REFERENCES points (run_id, point)
) STRICT, WITHOUT ROWID;
INSERT INTO "metrics" VALUES(1,'approx_kl',1,1.49395782500505447387e-06);
INSERT INTO "metrics" VALUES(1,'approx_kl',2,2.20164656639099121093e-06);
INSERT INTO "metrics" VALUES(1,'approx_kl',3,5.93601725995540618896e-07);
INSERT INTO "metrics" VALUES(1,'approx_kl',4,1.55996531248092651367e-08);
INSERT INTO "metrics" VALUES(1,'clipfrac',1,0.0);
INSERT INTO "metrics" VALUES(1,'clipfrac',2,0.0);
INSERT INTO "metrics" VALUES(1,'clipfrac',3,0.0);
INSERT INTO "metrics" VALUES(1,'clipfrac',4,0.0);
INSERT INTO "metrics" VALUES(1,'entropy',1,6.93143242155201733112e-01);
INSERT INTO "metrics" VALUES(1,'entropy',2,6.93113730405457317829e-01);
INSERT INTO "metrics" VALUES(1,'entropy',3,6.93052888731472194194e-01);
INSERT INTO "metrics" VALUES(1,'entropy',4,0.69304441253189);
INSERT INTO "metrics" VALUES(1,'episodes',1,6.0);
INSERT INTO "metrics" VALUES(1,'episodes',2,7.0);
INSERT INTO "metrics" VALUES(1,'episodes',3,4.0);
INSERT INTO "metrics" VALUES(1,'episodes',4,4.0);
INSERT INTO "metrics" VALUES(1,'episodic_length',1,2.00909090909090899397e+01);
INSERT INTO "metrics" VALUES(1,'episodic_length',2,2.14347826086956523279e+01);
INSERT INTO "metrics" VALUES(1,'episodic_length',3,20.5625);
INSERT INTO "metrics" VALUES(1,'episodic_length',4,23.225);
INSERT INTO "metrics" VALUES(1,'episodic_return',1,2.00909090909090899397e+01);
INSERT INTO "metrics" VALUES(1,'episodic_return',2,2.14347826086956523279e+01);
INSERT INTO "metrics" VALUES(1,'episodic_return',3,20.5625);
INSERT INTO "metrics" VALUES(1,'episodic_return',4,23.225);
INSERT INTO "metrics" VALUES(1,'epochs',1,4.0);
INSERT INTO "metrics" VALUES(1,'epochs',2,4.0);
INSERT INTO "metrics" VALUES(1,'epochs',3,4.0);
INSERT INTO "metrics" VALUES(1,'epochs',4,4.0);
INSERT INTO "metrics" VALUES(1,'ess',1,9.99997061604125150359e+01);
INSERT INTO "metrics" VALUES(1,'ess',2,9.99995744463296603026e+01);
INSERT INTO "metrics" VALUES(1,'ess',3,9.99998879626326271381e+01);
INSERT INTO "metrics" VALUES(1,'ess',4,9.99999982467496266718e+01);
INSERT INTO "metrics" VALUES(1,'explained_variance',1,-1.09442771074341527182e-01);
INSERT INTO "metrics" VALUES(1,'explained_variance',2,-1.55556068293924987244e-02);
INSERT INTO "metrics" VALUES(1,'explained_variance',3,-2.30536414803881317681e-02);
INSERT INTO "metrics" VALUES(1,'explained_variance',4,3.13705672253370426716e-02);
INSERT INTO "metrics" VALUES(1,'grad_norm',1,4.21009295057666843575e+00);
INSERT INTO "metrics" VALUES(1,'grad_norm',2,4.21692511416913440314e+00);
INSERT INTO "metrics" VALUES(1,'grad_norm',3,5.46519256912600770448e+00);
INSERT INTO "metrics" VALUES(1,'grad_norm',4,5.2204576993140028307e+00);
INSERT INTO "metrics" VALUES(1,'learning_rate',1,0.00021875);
INSERT INTO "metrics" VALUES(1,'learning_rate',2,0.00015625);
INSERT INTO "metrics" VALUES(1,'learning_rate',3,9.375e-05);
INSERT INTO "metrics" VALUES(1,'learning_rate',4,3.125e-05);
INSERT INTO "metrics" VALUES(1,'max_ratio',1,1.00506007671356201171e+00);
INSERT INTO "metrics" VALUES(1,'max_ratio',2,1.00653421878814697265e+00);
INSERT INTO "metrics" VALUES(1,'max_ratio',3,1.00313842296600341796e+00);
INSERT INTO "metrics" VALUES(1,'max_ratio',4,1.00042128562927246093e+00);
INSERT INTO "metrics" VALUES(1,'min_ratio',1,0.99444979429245);
INSERT INTO "metrics" VALUES(1,'min_ratio',2,9.92963075637817382812e-01);
INSERT INTO "metrics" VALUES(1,'min_ratio',3,9.96589899063110351562e-01);
INSERT INTO "metrics" VALUES(1,'min_ratio',4,9.99518811702728271484e-01);
INSERT INTO "metrics" VALUES(1,'old_approx_kl',1,6.38987403362989425659e-05);
INSERT INTO "metrics" VALUES(1,'old_approx_kl',2,1.97951099835336208343e-04);
INSERT INTO "metrics" VALUES(1,'old_approx_kl',3,-2.73919431492686271667e-05);
INSERT INTO "metrics" VALUES(1,'old_approx_kl',4,7.83789437264204e-06);
INSERT INTO "metrics" VALUES(1,'policy_loss',1,-1.16757268187939189374e-04);
INSERT INTO "metrics" VALUES(1,'policy_loss',2,-3.28102996718371286988e-04);
INSERT INTO "metrics" VALUES(1,'policy_loss',3,-1.446517281067372096e-04);
INSERT INTO "metrics" VALUES(1,'policy_loss',4,-7.82584316993961692787e-06);
INSERT INTO "metrics" VALUES(1,'success_rate',1,0.0);
INSERT INTO "metrics" VALUES(1,'success_rate',2,0.0);
INSERT INTO "metrics" VALUES(1,'success_rate',3,0.0);
INSERT INTO "metrics" VALUES(1,'success_rate',4,0.0);
INSERT INTO "metrics" VALUES(1,'termination_rate',1,1.0);
INSERT INTO "metrics" VALUES(1,'termination_rate',2,1.0);
INSERT INTO "metrics" VALUES(1,'termination_rate',3,1.0);
INSERT INTO "metrics" VALUES(1,'termination_rate',4,1.0);
INSERT INTO "metrics" VALUES(1,'value_loss',1,24.0772055308571);
INSERT INTO "metrics" VALUES(1,'value_loss',2,2.36118379486979392814e+01);
INSERT INTO "metrics" VALUES(1,'value_loss',3,4.08020496536191785725e+01);
INSERT INTO "metrics" VALUES(1,'value_loss',4,3.34993854548956733192e+01);
INSERT INTO "metrics" VALUES(2,'approx_kl',1,4.56115230917930603027e-07);
INSERT INTO "metrics" VALUES(2,'approx_kl',2,5.59608452022075653076e-07);
INSERT INTO "metrics" VALUES(2,'approx_kl',3,5.15370629727840423583e-07);
INSERT INTO "metrics" VALUES(2,'approx_kl',4,3.49245965480804443359e-08);
INSERT INTO "metrics" VALUES(2,'clipfrac',1,0.0);
INSERT INTO "metrics" VALUES(2,'clipfrac',2,0.0);
INSERT INTO "metrics" VALUES(2,'clipfrac',3,0.0);
INSERT INTO "metrics" VALUES(2,'clipfrac',4,0.0);
INSERT INTO "metrics" VALUES(2,'entropy',1,6.93137985072098672389e-01);
INSERT INTO "metrics" VALUES(2,'entropy',2,6.93121569580398499965e-01);
INSERT INTO "metrics" VALUES(2,'entropy',3,6.93073876318521797657e-01);
INSERT INTO "metrics" VALUES(2,'entropy',4,6.93053381750360131263e-01);
INSERT INTO "metrics" VALUES(2,'episodes',1,7.0);
INSERT INTO "metrics" VALUES(2,'episodes',2,6.0);
INSERT INTO "metrics" VALUES(2,'episodes',3,6.0);
INSERT INTO "metrics" VALUES(2,'episodes',4,10.0);
INSERT INTO "metrics" VALUES(2,'episodic_length',1,16.0);
INSERT INTO "metrics" VALUES(2,'episodic_length',2,19.7);
INSERT INTO "metrics" VALUES(2,'episodic_length',3,2.14333333333333335706e+01);
INSERT INTO "metrics" VALUES(2,'episodic_length',4,2.19302325581395365352e+01);
INSERT INTO "metrics" VALUES(2,'episodic_return',1,16.0);
INSERT INTO "metrics" VALUES(2,'episodic_return',2,19.7);
INSERT INTO "metrics" VALUES(2,'episodic_return',3,2.14333333333333335706e+01);
INSERT INTO "metrics" VALUES(2,'episodic_return',4,2.19302325581395365352e+01);
INSERT INTO "metrics" VALUES(2,'epochs',1,4.0);
INSERT INTO "metrics" VALUES(2,'epochs',2,4.0);
INSERT INTO "metrics" VALUES(2,'epochs',3,4.0);
INSERT INTO "metrics" VALUES(2,'epochs',4,4.0);
INSERT INTO "metrics" VALUES(2,'ess',1,9.99999121273308873032e+01);
INSERT INTO "metrics" VALUES(2,'ess',2,9.99998924480333073461e+01);
INSERT INTO "metrics" VALUES(2,'ess',3,9.99998992928492924647e+01);
INSERT INTO "metrics" VALUES(2,'ess',4,9.99999942991517514184e+01);
INSERT INTO "metrics" VALUES(2,'explained_variance',1,4.74343903678642320187e-03);
INSERT INTO "metrics" VALUES(2,'explained_variance',2,-0.1142113088951);
INSERT INTO "metrics" VALUES(2,'explained_variance',3,-3.21770399739733647948e-02);
INSERT INTO "metrics" VALUES(2,'explained_variance',4,-1.05377459001208206856e-01);
INSERT INTO "metrics" VALUES(2,'grad_norm',1,3.4054810629018241741e+00);
INSERT INTO "metrics" VALUES(2,'grad_norm',2,3.75836032357059890429e+00);
INSERT INTO "metrics" VALUES(2,'grad_norm',3,3.73617998681539198457e+00);
INSERT INTO "metrics" VALUES(2,'grad_norm',4,3.26019498235133076136e+00);
INSERT INTO "metrics" VALUES(2,'learning_rate',1,0.00021875);
INSERT INTO "metrics" VALUES(2,'learning_rate',2,0.00015625);
INSERT INTO "metrics" VALUES(2,'learning_rate',3,9.375e-05);
INSERT INTO "metrics" VALUES(2,'learning_rate',4,3.125e-05);
INSERT INTO "metrics" VALUES(2,'max_ratio',1,1.00341832637786865234e+00);
INSERT INTO "metrics" VALUES(2,'max_ratio',2,1.00368058681488037109e+00);
INSERT INTO "metrics" VALUES(2,'max_ratio',3,1.00302839279174804687e+00);
INSERT INTO "metrics" VALUES(2,'max_ratio',4,1.00069260597229);
INSERT INTO "metrics" VALUES(2,'min_ratio',1,9.96645092964172363281e-01);
INSERT INTO "metrics" VALUES(2,'min_ratio',2,9.96900379657745361328e-01);
INSERT INTO "metrics" VALUES(2,'min_ratio',3,0.996836245059967);
INSERT INTO "metrics" VALUES(2,'min_ratio',4,9.99149441719055175781e-01);
INSERT INTO "metrics" VALUES(2,'old_approx_kl',1,-9.53773269429802894592e-05);
INSERT INTO "metrics" VALUES(2,'old_approx_kl',2,-1.28720072098076343536e-04);
INSERT INTO "metrics" VALUES(2,'old_approx_kl',3,2.37629283219575881958e-05);
INSERT INTO "metrics" VALUES(2,'old_approx_kl',4,1.42880016937851905822e-05);
INSERT INTO "metrics" VALUES(2,'policy_loss',1,-1.9928235849064890317e-05);
INSERT INTO "metrics" VALUES(2,'policy_loss',2,-7.69010659951163688674e-05);
INSERT INTO "metrics" VALUES(2,'policy_loss',3,-9.62023241299903e-05);
INSERT INTO "metrics" VALUES(2,'policy_loss',4,-1.81716980023338692262e-05);
INSERT INTO "metrics" VALUES(2,'success_rate',1,0.0);
INSERT INTO "metrics" VALUES(2,'success_rate',2,0.0);
INSERT INTO "metrics" VALUES(2,'success_rate',3,0.0);
INSERT INTO "metrics" VALUES(2,'success_rate',4,0.0);
INSERT INTO "metrics" VALUES(2,'termination_rate',1,1.0);
INSERT INTO "metrics" VALUES(2,'termination_rate',2,1.0);
INSERT INTO "metrics" VALUES(2,'termination_rate',3,1.0);
INSERT INTO "metrics" VALUES(2,'termination_rate',4,1.0);
INSERT INTO "metrics" VALUES(2,'value_loss',1,1.55167796531259227776e+01);
INSERT INTO "metrics" VALUES(2,'value_loss',2,1.94636787040562921902e+01);
INSERT INTO "metrics" VALUES(2,'value_loss',3,1.7798520770069444552e+01);
INSERT INTO "metrics" VALUES(2,'value_loss',4,1.51410107313614901154e+01);
INSERT INTO "metrics" VALUES(3,'approx_kl',1,1.63586810231208801269e-06);
INSERT INTO "metrics" VALUES(3,'approx_kl',2,8.89413058757782e-08);
INSERT INTO "metrics" VALUES(3,'approx_kl',3,4.21423465013504e-08);
INSERT INTO "metrics" VALUES(3,'approx_kl',4,2.45636329054832458496e-08);
INSERT INTO "metrics" VALUES(3,'clipfrac',1,0.0);
INSERT INTO "metrics" VALUES(3,'clipfrac',2,0.0);
INSERT INTO "metrics" VALUES(3,'clipfrac',3,0.0);
INSERT INTO "metrics" VALUES(3,'clipfrac',4,0.0);
INSERT INTO "metrics" VALUES(3,'entropy',1,6.93097688839770853519e-01);
INSERT INTO "metrics" VALUES(3,'entropy',2,6.93091929890215396881e-01);
INSERT INTO "metrics" VALUES(3,'entropy',3,0.693059615790844);
INSERT INTO "metrics" VALUES(3,'entropy',4,6.93097634240984916687e-01);
INSERT INTO "metrics" VALUES(3,'episodes',1,5.0);
INSERT INTO "metrics" VALUES(3,'episodes',2,4.0);
INSERT INTO "metrics" VALUES(3,'episodes',3,5.0);
INSERT INTO "metrics" VALUES(3,'episodes',4,3.0);
INSERT INTO "metrics" VALUES(3,'episodic_length',1,2.0333333333333332149e+01);
INSERT INTO "metrics" VALUES(3,'episodic_length',2,21.85);
INSERT INTO "metrics" VALUES(3,'episodic_length',3,2.30666666666666664298e+01);
INSERT INTO "metrics" VALUES(3,'episodic_length',4,23.75);
INSERT INTO "metrics" VALUES(3,'episodic_return',1,2.0333333333333332149e+01);
INSERT INTO "metrics" VALUES(3,'episodic_return',2,21.85);
INSERT INTO "metrics" VALUES(3,'episodic_return',3,2.30666666666666664298e+01);
INSERT INTO "metrics" VALUES(3,'episodic_return',4,23.75);
INSERT INTO "metrics" VALUES(3,'epochs',1,4.0);
INSERT INTO "metrics" VALUES(3,'epochs',2,4.0);
INSERT INTO "metrics" VALUES(3,'epochs',3,4.0);
INSERT INTO "metrics" VALUES(3,'epochs',4,4.0);
INSERT INTO "metrics" VALUES(3,'ess',1,99.9996813803948);
INSERT INTO "metrics" VALUES(3,'ess',2,9.99999843249096898034e+01);
INSERT INTO "metrics" VALUES(3,'ess',3,9.99999934697067374179e+01);
INSERT INTO "metrics" VALUES(3,'ess',4,9.99999962200568148773e+01);
INSERT INTO "metrics" VALUES(3,'explained_variance',1,-8.80381092937065901082e-03);
INSERT INTO "metrics" VALUES(3,'explained_variance',2,-3.32153126710124091403e-02);
INSERT INTO "metrics" VALUES(3,'explained_variance',3,-1.05683688624855776083e-02);
INSERT INTO "metrics" VALUES(3,'explained_variance',4,-2.64142795221093962254e-02);
INSERT INTO "metrics" VALUES(3,'grad_norm',1,4.94556545651641865646e+00);
INSERT INTO "metrics" VALUES(3,'grad_norm',2,4.89787590470912537199e+00);
INSERT INTO "metrics" VALUES(3,'grad_norm',3,4.8538238778085371905e+00);
INSERT INTO "metrics" VALUES(3,'grad_norm',4,5.75966885953994900404e+00);
INSERT INTO "metrics" VALUES(3,'learning_rate',1,0.00021875);
INSERT INTO "metrics" VALUES(3,'learning_rate',2,0.00015625);
INSERT INTO "metrics" VALUES(3,'learning_rate',3,9.375e-05);
INSERT INTO "metrics" VALUES(3,'learning_rate',4,3.125e-05);
INSERT INTO "metrics" VALUES(3,'max_ratio',1,1.0059095621109008789e+00);
INSERT INTO "metrics" VALUES(3,'max_ratio',2,1.00140297412872314453e+00);
INSERT INTO "metrics" VALUES(3,'max_ratio',3,1.00085771083831787109e+00);
INSERT INTO "metrics" VALUES(3,'max_ratio',4,1.00057840347290039062e+00);
INSERT INTO "metrics" VALUES(3,'min_ratio',1,9.9476057291030883789e-01);
INSERT INTO "metrics" VALUES(3,'min_ratio',2,9.98688399791717529296e-01);
INSERT INTO "metrics" VALUES(3,'min_ratio',3,9.99079942703247070312e-01);
INSERT INTO "metrics" VALUES(3,'min_ratio',4,9.99382257461547851562e-01);
INSERT INTO "metrics" VALUES(3,'old_approx_kl',1,-7.40456162020564079284e-05);
INSERT INTO "metrics" VALUES(3,'old_approx_kl',2,-9.30927926674485206604e-05);
INSERT INTO "metrics" VALUES(3,'old_approx_kl',3,-1.58790498971939086914e-06);
INSERT INTO "metrics" VALUES(3,'old_approx_kl',4,1.14865833893418312072e-05);
INSERT INTO "metrics" VALUES(3,'policy_loss',1,-1.42347387850350060034e-04);
INSERT INTO "metrics" VALUES(3,'policy_loss',2,-8.77065303939161822199e-06);
INSERT INTO "metrics" VALUES(3,'policy_loss',3,-2.19708767872361931949e-05);
INSERT INTO "metrics" VALUES(3,'policy_loss',4,-1.41118885039759334176e-05);
INSERT INTO "metrics" VALUES(3,'success_rate',1,0.0);
INSERT INTO "metrics" VALUES(3,'success_rate',2,0.0);
INSERT INTO "metrics" VALUES(3,'success_rate',3,0.0);
INSERT INTO "metrics" VALUES(3,'success_rate',4,0.0);
INSERT INTO "metrics" VALUES(3,'termination_rate',1,1.0);
INSERT INTO "metrics" VALUES(3,'termination_rate',2,1.0);
INSERT INTO "metrics" VALUES(3,'termination_rate',3,1.0);
INSERT INTO "metrics" VALUES(3,'termination_rate',4,1.0);
INSERT INTO "metrics" VALUES(3,'value_loss',1,3.52716159539413638408e+01);
INSERT INTO "metrics" VALUES(3,'value_loss',2,3.38073730437899939711e+01);
INSERT INTO "metrics" VALUES(3,'value_loss',3,3.44602255871286615733e+01);
INSERT INTO "metrics" VALUES(3,'value_loss',4,4.27159229612880153581e+01);
INSERT INTO "metrics" VALUES(4,'approx_kl',1,6.33648596704006195068e-07);
INSERT INTO "metrics" VALUES(4,'approx_kl',2,5.86733222007751464843e-07);
INSERT INTO "metrics" VALUES(4,'approx_kl',3,1.14669091999530792236e-07);
INSERT INTO "metrics" VALUES(4,'approx_kl',4,1.33877620100975036621e-08);
INSERT INTO "metrics" VALUES(4,'clipfrac',1,0.0);
INSERT INTO "metrics" VALUES(4,'clipfrac',2,0.0);
INSERT INTO "metrics" VALUES(4,'clipfrac',3,0.0);
INSERT INTO "metrics" VALUES(4,'clipfrac',4,0.0);
INSERT INTO "metrics" VALUES(4,'entropy',1,0.693136167479679);
INSERT INTO "metrics" VALUES(4,'entropy',2,6.93125609075650572776e-01);
INSERT INTO "metrics" VALUES(4,'entropy',3,6.93091515800915658473e-01);
INSERT INTO "metrics" VALUES(4,'entropy',4,6.93099024589173495769e-01);
INSERT INTO "metrics" VALUES(4,'episodes',1,5.0);
INSERT INTO "metrics" VALUES(4,'episodes',2,7.0);
INSERT INTO "metrics" VALUES(4,'episodes',3,8.0);
INSERT INTO "metrics" VALUES(4,'episodes',4,5.0);
INSERT INTO "metrics" VALUES(4,'episodic_length',1,20.75);
INSERT INTO "metrics" VALUES(4,'episodic_length',2,1.89523809523809525501e+01);
INSERT INTO "metrics" VALUES(4,'episodic_length',3,2.08823529411764710053e+01);
INSERT INTO "metrics" VALUES(4,'episodic_length',4,2.06590909090909100606e+01);
INSERT INTO "metrics" VALUES(4,'episodic_return',1,20.75);
INSERT INTO "metrics" VALUES(4,'episodic_return',2,1.89523809523809525501e+01);
INSERT INTO "metrics" VALUES(4,'episodic_return',3,2.08823529411764710053e+01);
INSERT INTO "metrics" VALUES(4,'episodic_return',4,2.06590909090909100606e+01);
INSERT INTO "metrics" VALUES(4,'epochs',1,4.0);
INSERT INTO "metrics" VALUES(4,'epochs',2,4.0);
INSERT INTO "metrics" VALUES(4,'epochs',3,4.0);
INSERT INTO "metrics" VALUES(4,'epochs',4,4.0);
INSERT INTO "metrics" VALUES(4,'ess',1,9.99998783216239104341e+01);
INSERT INTO "metrics" VALUES(4,'ess',2,9.9999885050091535275e+01);
INSERT INTO "metrics" VALUES(4,'ess',3,9.99999782860368924275e+01);
INSERT INTO "metrics" VALUES(4,'ess',4,9.99999999330657232156e+01);
INSERT INTO "metrics" VALUES(4,'explained_variance',1,3.79377798347002581635e-03);
INSERT INTO "metrics" VALUES(4,'explained_variance',2,-3.9000904215689136123e-03);
INSERT INTO "metrics" VALUES(4,'explained_variance',3,1.55922829557204600803e-02);
INSERT INTO "metrics" VALUES(4,'explained_variance',4,-0.00953304176166525);
INSERT INTO "metrics" VALUES(4,'grad_norm',1,3.55382568717205105102e+00);
INSERT INTO "metrics" VALUES(4,'grad_norm',2,3.58709494087584346289e+00);
INSERT INTO "metrics" VALUES(4,'grad_norm',3,2.94163206465407434109e+00);
INSERT INTO "metrics" VALUES(4,'grad_norm',4,3.68293897435079919944e+00);
INSERT INTO "metrics" VALUES(4,'learning_rate',1,0.00021875);
INSERT INTO "metrics" VALUES(4,'learning_rate',2,0.00015625);
INSERT INTO "metrics" VALUES(4,'learning_rate',3,9.375e-05);
INSERT INTO "metrics" VALUES(4,'learning_rate',4,3.125e-05);
INSERT INTO "metrics" VALUES(4,'max_ratio',1,1.00244951248168945312e+00);
INSERT INTO "metrics" VALUES(4,'max_ratio',2,1.0041294097900390625e+00);
INSERT INTO "metrics" VALUES(4,'max_ratio',3,1.00159096717834472656e+00);
INSERT INTO "metrics" VALUES(4,'max_ratio',4,1.00005865097045898437e+00);
INSERT INTO "metrics" VALUES(4,'min_ratio',1,9.97379183769226074218e-01);
INSERT INTO "metrics" VALUES(4,'min_ratio',2,9.95866119861602783203e-01);
INSERT INTO "metrics" VALUES(4,'min_ratio',3,9.98438954353332519531e-01);
INSERT INTO "metrics" VALUES(4,'min_ratio',4,9.99944448471069335937e-01);
INSERT INTO "metrics" VALUES(4,'old_approx_kl',1,5.94154698774218559265e-05);
INSERT INTO "metrics" VALUES(4,'old_approx_kl',2,-1.75995519384741783142e-05);
INSERT INTO "metrics" VALUES(4,'old_approx_kl',3,4.89335507154464721679e-05);
INSERT INTO "metrics" VALUES(4,'old_approx_kl',4,-2.79513187706470489501e-07);
INSERT INTO "metrics" VALUES(4,'policy_loss',1,-1.10076357259458745829e-04);
INSERT INTO "metrics" VALUES(4,'policy_loss',2,-1.39708350616274401545e-04);
INSERT INTO "metrics" VALUES(4,'policy_loss',3,-5.06367359776049852371e-06);
INSERT INTO "metrics" VALUES(4,'policy_loss',4,1.73931198332866188138e-06);
INSERT INTO "metrics" VALUES(4,'success_rate',1,0.0);
INSERT INTO "metrics" VALUES(4,'success_rate',2,0.0);
INSERT INTO "metrics" VALUES(4,'success_rate',3,0.0);
INSERT INTO "metrics" VALUES(4,'success_rate',4,0.0);
INSERT INTO "metrics" VALUES(4,'termination_rate',1,1.0);
INSERT INTO "metrics" VALUES(4,'termination_rate',2,1.0);
INSERT INTO "metrics" VALUES(4,'termination_rate',3,1.0);
INSERT INTO "metrics" VALUES(4,'termination_rate',4,1.0);
INSERT INTO "metrics" VALUES(4,'value_loss',1,1.86899103186442516744e+01);
INSERT INTO "metrics" VALUES(4,'value_loss',2,1.88723714593797922134e+01);
INSERT INTO "metrics" VALUES(4,'value_loss',3,1.33687788319657556716e+01);
INSERT INTO "metrics" VALUES(4,'value_loss',4,1.9401845659886021167e+01);
INSERT INTO "metrics" VALUES(5,'approx_kl',1,1.92341394722461700439e-06);
INSERT INTO "metrics" VALUES(5,'approx_kl',2,1.83307565748691558837e-06);
INSERT INTO "metrics" VALUES(5,'approx_kl',3,4.13041561841964721679e-07);
INSERT INTO "metrics" VALUES(5,'approx_kl',4,2.49128788709640502929e-08);
INSERT INTO "metrics" VALUES(5,'clipfrac',1,0.0);
INSERT INTO "metrics" VALUES(5,'clipfrac',2,0.0);
INSERT INTO "metrics" VALUES(5,'clipfrac',3,0.0);
INSERT INTO "metrics" VALUES(5,'clipfrac',4,0.0);
INSERT INTO "metrics" VALUES(5,'entropy',1,6.93138438393361866474e-01);
INSERT INTO "metrics" VALUES(5,'entropy',2,0.69308849691879);
INSERT INTO "metrics" VALUES(5,'entropy',3,6.93002752028405666351e-01);
INSERT INTO "metrics" VALUES(5,'entropy',4,6.92969594965688884258e-01);
INSERT INTO "metrics" VALUES(5,'episodes',1,5.0);
INSERT INTO "metrics" VALUES(5,'episodes',2,6.0);
INSERT INTO "metrics" VALUES(5,'episodes',3,4.0);
INSERT INTO "metrics" VALUES(5,'episodes',4,7.0);
INSERT INTO "metrics" VALUES(5,'episodic_length',1,1.6333333333333332149e+01);
INSERT INTO "metrics" VALUES(5,'episodic_length',2,2.26190476190476204006e+01);
INSERT INTO "metrics" VALUES(5,'episodic_length',3,2.29333333333333335693e+01);
INSERT INTO "metrics" VALUES(5,'episodic_length',4,2.30930232558139536536e+01);
INSERT INTO "metrics" VALUES(5,'episodic_return',1,1.6333333333333332149e+01);
INSERT INTO "metrics" VALUES(5,'episodic_return',2,2.26190476190476204006e+01);
INSERT INTO "metrics" VALUES(5,'episodic_return',3,2.29333333333333335693e+01);
INSERT INTO "metrics" VALUES(5,'episodic_return',4,2.30930232558139536536e+01);
INSERT INTO "metrics" VALUES(5,'epochs',1,4.0);
INSERT INTO "metrics" VALUES(5,'epochs',2,4.0);
INSERT INTO "metrics" VALUES(5,'epochs',3,4.0);
INSERT INTO "metrics" VALUES(5,'epochs',4,4.0);
INSERT INTO "metrics" VALUES(5,'ess',1,9.99996228534627391599e+01);
INSERT INTO "metrics" VALUES(5,'ess',2,9.99996416781533667937e+01);
INSERT INTO "metrics" VALUES(5,'ess',3,9.99999205952928633695e+01);
INSERT INTO "metrics" VALUES(5,'ess',4,9.99999966726150404418e+01);
INSERT INTO "metrics" VALUES(5,'explained_variance',1,5.21876402311181042392e-02);
INSERT INTO "metrics" VALUES(5,'explained_variance',2,3.45720784183056739635e-03);
INSERT INTO "metrics" VALUES(5,'explained_variance',3,5.20396887916594330647e-02);
INSERT INTO "metrics" VALUES(5,'explained_variance',4,-7.41115887758063696111e-02);
INSERT INTO "metrics" VALUES(5,'grad_norm',1,5.00642770346975);
INSERT INTO "metrics" VALUES(5,'grad_norm',2,4.37840728362945430518e+00);
INSERT INTO "metrics" VALUES(5,'grad_norm',3,4.73979192456802156385e+00);
INSERT INTO "metrics" VALUES(5,'grad_norm',4,3.75375248196303479275e+00);
INSERT INTO "metrics" VALUES(5,'learning_rate',1,0.00021875);
INSERT INTO "metrics" VALUES(5,'learning_rate',2,0.00015625);
INSERT INTO "metrics" VALUES(5,'learning_rate',3,9.375e-05);
INSERT INTO "metrics" VALUES(5,'learning_rate',4,3.125e-05);
INSERT INTO "metrics" VALUES(5,'max_ratio',1,1.00622677803039550781e+00);
INSERT INTO "metrics" VALUES(5,'max_ratio',2,1.00650525093078613281e+00);
INSERT INTO "metrics" VALUES(5,'max_ratio',3,1.00257575511932373046e+00);
INSERT INTO "metrics" VALUES(5,'max_ratio',4,1.0004907846450805664e+00);
INSERT INTO "metrics" VALUES(5,'min_ratio',1,9.94125008583068847656e-01);
INSERT INTO "metrics" VALUES(5,'min_ratio',2,9.92389380931854248046e-01);
INSERT INTO "metrics" VALUES(5,'min_ratio',3,9.97022569179534912109e-01);
INSERT INTO "metrics" VALUES(5,'min_ratio',4,9.99454736709594726562e-01);
INSERT INTO "metrics" VALUES(5,'old_approx_kl',1,-2.38622305914759635925e-05);
INSERT INTO "metrics" VALUES(5,'old_approx_kl',2,1.32135231979191303253e-04);
INSERT INTO "metrics" VALUES(5,'old_approx_kl',3,-1.14924390800297260284e-04);
INSERT INTO "metrics" VALUES(5,'old_approx_kl',4,2.54111364483833312988e-06);
INSERT INTO "metrics" VALUES(5,'policy_loss',1,-2.35069639529683627188e-04);
INSERT INTO "metrics" VALUES(5,'policy_loss',2,-3.60187820660939905792e-04);
INSERT INTO "metrics" VALUES(5,'policy_loss',3,-5.09910514665534719824e-05);
INSERT INTO "metrics" VALUES(5,'policy_loss',4,-4.33741752203786745667e-06);
INSERT INTO "metrics" VALUES(5,'success_rate',1,0.0);
INSERT INTO "metrics" VALUES(5,'success_rate',2,0.0);
INSERT INTO "metrics" VALUES(5,'success_rate',3,0.0);
INSERT INTO "metrics" VALUES(5,'success_rate',4,0.0);
INSERT INTO "metrics" VALUES(5,'termination_rate',1,1.0);
INSERT INTO "metrics" VALUES(5,'termination_rate',2,1.0);
INSERT INTO "metrics" VALUES(5,'termination_rate',3,1.0);
INSERT INTO "metrics" VALUES(5,'termination_rate',4,1.0);
INSERT INTO "metrics" VALUES(5,'value_loss',1,3.43811212502187117938e+01);
INSERT INTO "metrics" VALUES(5,'value_loss',2,2.69358444790195790115e+01);
INSERT INTO "metrics" VALUES(5,'value_loss',3,3.18969784491564496415e+01);
INSERT INTO "metrics" VALUES(5,'value_loss',4,2.14795850292211980563e+01);
INSERT INTO "metrics" VALUES(6,'approx_kl',1,1.84704549610614776611e-06);
INSERT INTO "metrics" VALUES(6,'approx_kl',2,5.54602593183517456054e-07);
INSERT INTO "metrics" VALUES(6,'approx_kl',3,4.28291969001293182373e-07);
INSERT INTO "metrics" VALUES(6,'approx_kl',4,5.04078343510627746582e-08);
INSERT INTO "metrics" VALUES(6,'clipfrac',1,0.0);
INSERT INTO "metrics" VALUES(6,'clipfrac',2,0.0);
INSERT INTO "metrics" VALUES(6,'clipfrac',3,0.0);
INSERT INTO "metrics" VALUES(6,'clipfrac',4,0.0);
INSERT INTO "metrics" VALUES(6,'entropy',1,6.93142212694510817527e-01);
INSERT INTO "metrics" VALUES(6,'entropy',2,0.693137900903821);
INSERT INTO "metrics" VALUES(6,'entropy',3,6.93116820417344570159e-01);
INSERT INTO "metrics" VALUES(6,'entropy',4,6.93106740480288863182e-01);
INSERT INTO "metrics" VALUES(6,'episodes',1,3.0);
INSERT INTO "metrics" VALUES(6,'episodes',2,3.0);
INSERT INTO "metrics" VALUES(6,'episodes',3,6.0);
INSERT INTO "metrics" VALUES(6,'episodes',4,6.0);
INSERT INTO "metrics" VALUES(6,'episodic_length',1,16.75);
INSERT INTO "metrics" VALUES(6,'episodic_length',2,18.05);
INSERT INTO "metrics" VALUES(6,'episodic_length',3,20.15625);
INSERT INTO "metrics" VALUES(6,'episodic_length',4,2.12954545454545467468e+01);
INSERT INTO "metrics" VALUES(6,'episodic_return',1,16.75);
INSERT INTO "metrics" VALUES(6,'episodic_return',2,18.05);
INSERT INTO "metrics" VALUES(6,'episodic_return',3,20.15625);
INSERT INTO "metrics" VALUES(6,'episodic_return',4,2.12954545454545467468e+01);
INSERT INTO "metrics" VALUES(6,'epochs',1,4.0);
INSERT INTO "metrics" VALUES(6,'epochs',2,4.0);
INSERT INTO "metrics" VALUES(6,'epochs',3,4.0);
INSERT INTO "metrics" VALUES(6,'epochs',4,4.0);
INSERT INTO "metrics" VALUES(6,'ess',1,9.99996403344472355439e+01);
INSERT INTO "metrics" VALUES(6,'ess',2,9.99998962028449795997e+01);
INSERT INTO "metrics" VALUES(6,'ess',3,9.99999177531407497116e+01);
INSERT INTO "metrics" VALUES(6,'ess',4,99.9999913516451);
INSERT INTO "metrics" VALUES(6,'explained_variance',1,8.58040988429750184351e-02);
INSERT INTO "metrics" VALUES(6,'explained_variance',2,1.34983006993133480833e-02);
INSERT INTO "metrics" VALUES(6,'explained_variance',3,3.28556050006346689329e-02);
INSERT INTO "metrics" VALUES(6,'explained_variance',4,-1.99941330886486134943e-02);
INSERT INTO "metrics" VALUES(6,'grad_norm',1,4.07358246971909476741e+00);
INSERT INTO "metrics" VALUES(6,'grad_norm',2,3.74235783423514245527e+00);
INSERT INTO "metrics" VALUES(6,'grad_norm',3,3.67404059809391325686e+00);
INSERT INTO "metrics" VALUES(6,'grad_norm',4,3.52359491598505814025e+00);
INSERT INTO "metrics" VALUES(6,'learning_rate',1,0.00021875);
INSERT INTO "metrics" VALUES(6,'learning_rate',2,0.00015625);
INSERT INTO "metrics" VALUES(6,'learning_rate',3,9.375e-05);
INSERT INTO "metrics" VALUES(6,'learning_rate',4,3.125e-05);
INSERT INTO "metrics" VALUES(6,'max_ratio',1,1.00518250465393066406e+00);
INSERT INTO "metrics" VALUES(6,'max_ratio',2,1.00353777408599853515e+00);
INSERT INTO "metrics" VALUES(6,'max_ratio',3,1.00285756587982177734e+00);
INSERT INTO "metrics" VALUES(6,'max_ratio',4,1.00093948841094970703e+00);
INSERT INTO "metrics" VALUES(6,'min_ratio',1,9.94158983230590820312e-01);
INSERT INTO "metrics" VALUES(6,'min_ratio',2,9.9654203653335571289e-01);
INSERT INTO "metrics" VALUES(6,'min_ratio',3,9.96872723102569580078e-01);
INSERT INTO "metrics" VALUES(6,'min_ratio',4,9.98924791812896728515e-01);
INSERT INTO "metrics" VALUES(6,'old_approx_kl',1,2.1155877038836479187e-04);
INSERT INTO "metrics" VALUES(6,'old_approx_kl',2,-1.41585362143814563751e-04);
INSERT INTO "metrics" VALUES(6,'old_approx_kl',3,9.87786334007978439331e-05);
INSERT INTO "metrics" VALUES(6,'old_approx_kl',4,2.27886484935879707336e-05);
INSERT INTO "metrics" VALUES(6,'policy_loss',1,-1.74262810560321668162e-04);
INSERT INTO "metrics" VALUES(6,'policy_loss',2,-3.87564648463012417778e-05);
INSERT INTO "metrics" VALUES(6,'policy_loss',3,-1.16655265628651250153e-04);
INSERT INTO "metrics" VALUES(6,'policy_loss',4,-3.21543768677656771615e-05);
INSERT INTO "metrics" VALUES(6,'success_rate',1,0.0);
INSERT INTO "metrics" VALUES(6,'success_rate',2,0.0);
INSERT INTO "metrics" VALUES(6,'success_rate',3,0.0);
INSERT INTO "metrics" VALUES(6,'success_rate',4,0.0);
INSERT INTO "metrics" VALUES(6,'termination_rate',1,1.0);
INSERT INTO "metrics" VALUES(6,'termination_rate',2,1.0);
INSERT INTO "metrics" VALUES(6,'termination_rate',3,1.0);
INSERT INTO "metrics" VALUES(6,'termination_rate',4,1.0);
INSERT INTO "metrics" VALUES(6,'value_loss',1,2.19359301970689557492e+01);
INSERT INTO "metrics" VALUES(6,'value_loss',2,1.97339955247080069966e+01);
INSERT INTO "metrics" VALUES(6,'value_loss',3,1.78715719800675287842e+01);
INSERT INTO "metrics" VALUES(6,'value_loss',4,1.78709227657236624509e+01);
CREATE TABLE points (
  run_id INTEGER NOT NULL REFERENCES runs (id),
  point INTEGER NOT NULL,
  environment_steps INTEGER NOT NULL,
  global_step INTEGER NOT NULL,
  iteration INTEGER NOT NULL,
  seconds REAL NOT NULL,
  PRIMARY KEY (run_id, point)
) STRICT, WITHOUT ROWID;
INSERT INTO "points" VALUES(1,1,256,256,2,0.00083005);
INSERT INTO "points" VALUES(1,2,512,512,4,0.000980153);
INSERT INTO "points" VALUES(1,3,768,768,6,0.001122484);
INSERT INTO "points" VALUES(1,4,1024,1024,8,0.001266067);
INSERT INTO "points" VALUES(2,1,256,256,2,0.000598878);
INSERT INTO "points" VALUES(2,2,512,512,4,0.00066073);
INSERT INTO "points" VALUES(2,3,768,768,6,0.000725226);
INSERT INTO "points" VALUES(2,4,1024,1024,8,0.000786777);
INSERT INTO "points" VALUES(3,1,256,256,2,0.000382137);
INSERT INTO "points" VALUES(3,2,512,512,4,0.000456707);
INSERT INTO "points" VALUES(3,3,768,768,6,0.000530367);
INSERT INTO "points" VALUES(3,4,1024,1024,8,0.000604076);
INSERT INTO "points" VALUES(4,1,256,256,2,0.000449647);
INSERT INTO "points" VALUES(4,2,512,512,4,0.00051264);
INSERT INTO "points" VALUES(4,3,768,768,6,0.000574872);
INSERT INTO "points" VALUES(4,4,1024,1024,8,0.000636764);
INSERT INTO "points" VALUES(5,1,256,256,2,0.000377239);
INSERT INTO "points" VALUES(5,2,512,512,4,0.00045247);
INSERT INTO "points" VALUES(5,3,768,768,6,0.000526901);
INSERT INTO "points" VALUES(5,4,1024,1024,8,0.000601511);
INSERT INTO "points" VALUES(6,1,256,256,2,0.004598387);
INSERT INTO "points" VALUES(6,2,512,512,4,0.004661841);
INSERT INTO "points" VALUES(6,3,768,768,6,0.004723652);
INSERT INTO "points" VALUES(6,4,1024,1024,8,0.004785163);
CREATE TABLE runs (
  id INTEGER PRIMARY KEY,
  cell_id INTEGER NOT NULL REFERENCES cells (id),
  seed INTEGER NOT NULL,
  config_hash TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('pending', 'finished', 'failed')),
  error TEXT,
  parameters_hash TEXT,
  version TEXT,
  revision TEXT,
  isa TEXT,
  hardware TEXT,
  started TEXT,
  finished TEXT,
  seconds REAL,
  UNIQUE (cell_id, seed)
) STRICT;
INSERT INTO "runs" VALUES(1,1,1,'9a8d0add2c1ec778e100410766ecd12a','finished',NULL,'fb57a7c6d109b4ee4e95b3d16af410aa','0.1.0','3e7fee8348c7','avx512','AMD EPYC, 2 cores','2026-11-23T01:32:54Z','2026-11-23T01:32:54Z',0.001286888);
INSERT INTO "runs" VALUES(2,2,1,'ae139e741ca11e066515e8dabffddda7','finished',NULL,'0c4bfcf694199671a647b6d02586471d','0.1.0','3e7fee8348c7','avx512','AMD EPYC, 2 cores','2026-11-23T01:32:54Z','2026-11-23T01:32:54Z',0.000803702);
INSERT INTO "runs" VALUES(3,1,2,'6b24ecae28cea2645643eb77db1afe15','finished',NULL,'c85a77c993af76446ce0418b9ebe6c56','0.1.0','3e7fee8348c7','avx512','AMD EPYC, 2 cores','2026-11-23T01:32:54Z','2026-11-23T01:32:54Z',0.000614341);
INSERT INTO "runs" VALUES(4,2,2,'9dcbfedbe4a90e4539b595a2218f7414','finished',NULL,'1073d423c18170be5f2d882db458704c','0.1.0','3e7fee8348c7','avx512','AMD EPYC, 2 cores','2026-11-23T01:32:54Z','2026-11-23T01:32:54Z',0.000645257);
INSERT INTO "runs" VALUES(5,1,3,'4fe8817ae98fe3c885031a5acd106616','finished',NULL,'c4fb19d5391ad52b05b7fe16f483493f','0.1.0','3e7fee8348c7','avx512','AMD EPYC, 2 cores','2026-11-23T01:32:54Z','2026-11-23T01:32:54Z',0.000608982);
INSERT INTO "runs" VALUES(6,2,3,'e601b6028710bc357ec4d10eb2231d9a','finished',NULL,'44c35672d452b027f1484e2a804a2d98','0.1.0','3e7fee8348c7','avx512','AMD EPYC, 2 cores','2026-11-23T01:32:54Z','2026-11-23T01:32:54Z',0.004801347);
CREATE TABLE study (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  name TEXT NOT NULL,
  hash TEXT NOT NULL,
  definition TEXT NOT NULL,
  matched TEXT NOT NULL,
  points INTEGER NOT NULL,
  evaluations INTEGER NOT NULL,
  shard INTEGER NOT NULL,
  shards INTEGER NOT NULL,
  version TEXT NOT NULL,
  revision TEXT NOT NULL,
  created TEXT NOT NULL
) STRICT;
INSERT INTO "study" VALUES(1,'kept','0aa21d4e9b35311f744a6082127be571','points 4
evaluations 1
match minibatch_count
seeds 1,2,3
cell 4x32
env_id CartPole-v1
total_timesteps 1024
num_envs 4
num_steps 32
stagger_starts false
max_episode_steps 0
learning_rate 0.00025
lr_schedule linear
desired_kl 0.01
adam_eps 1e-05
max_grad_norm 0.5
gamma 0.99
gae_lambda 0.95
truncation_mode bootstrap
num_minibatches 4
minibatch_size 0
update_epochs 4
norm_adv minibatch
clip_coef 0.2
clip_vloss true
ent_coef 0.01
vf_coef 0.5
target_kl 0
hidden_sizes 4
activation tanh
shared_encoder false
log_std_init 0
norm_obs false
norm_reward false
clip_obs 10
clip_reward 10
eval_interval 0
eval_episodes 10
checkpoint_interval 10
keep_checkpoints 2
log_interval 1
tensorboard true
instruments 
instrument_every 50
isa auto
precision fp32
cell 8x16
env_id CartPole-v1
total_timesteps 1024
num_envs 8
num_steps 16
stagger_starts false
max_episode_steps 0
learning_rate 0.00025
lr_schedule linear
desired_kl 0.01
adam_eps 1e-05
max_grad_norm 0.5
gamma 0.99
gae_lambda 0.95
truncation_mode bootstrap
num_minibatches 4
minibatch_size 0
update_epochs 4
norm_adv minibatch
clip_coef 0.2
clip_vloss true
ent_coef 0.01
vf_coef 0.5
target_kl 0
hidden_sizes 4
activation tanh
shared_encoder false
log_std_init 0
norm_obs false
norm_reward false
clip_obs 10
clip_reward 10
eval_interval 0
eval_episodes 10
checkpoint_interval 10
keep_checkpoints 2
log_interval 1
tensorboard true
instruments 
instrument_every 50
isa auto
precision fp32
','minibatch_count',4,1,1,1,'0.1.0','3e7fee8348c7','2026-11-23T01:32:54Z');
CREATE VIEW settings AS
SELECT id AS cell_id, name AS cell,
  json_extract(config, '$.env_id') AS env_id,
  num_envs AS num_envs,
  num_steps AS num_steps
FROM cells;
CREATE VIEW learning_curves AS
SELECT s.cell, runs.seed, points.environment_steps, points.seconds, metrics.key, metrics.value,
  s.cell_id, s.env_id, s.num_envs, s.num_steps
FROM runs
JOIN settings s ON s.cell_id = runs.cell_id
JOIN metrics ON metrics.run_id = runs.id
JOIN points ON points.run_id = runs.id AND points.point = metrics.point
WHERE runs.status = 'finished';
CREATE VIEW learning_curves_by_time AS
WITH RECURSIVE grid (i, seconds) AS (
  SELECT 1, (SELECT max(seconds) FROM points) / (SELECT points FROM study)
  UNION ALL
  SELECT i + 1, (i + 1) * (SELECT max(seconds) FROM points) / (SELECT points FROM study)
  FROM grid WHERE i < (SELECT points FROM study)
)
SELECT s.cell, runs.seed, grid.seconds, metrics.key, metrics.value, s.cell_id, s.env_id, s.num_envs, s.num_steps
FROM grid
JOIN runs ON runs.status = 'finished'
JOIN settings s ON s.cell_id = runs.cell_id
JOIN metrics ON metrics.run_id = runs.id AND metrics.point =
  (SELECT max(p.point) FROM points p WHERE p.run_id = runs.id AND p.seconds <= grid.seconds);
CREATE VIEW scores AS
SELECT runs.id AS run_id, s.cell_id, s.cell, runs.seed,
  (SELECT value FROM metrics m WHERE m.run_id = runs.id AND m.key = 'episodic_return'
   ORDER BY point DESC LIMIT 1) AS training_return,
  (SELECT mean_return FROM evaluations e WHERE e.run_id = runs.id
   ORDER BY global_step DESC LIMIT 1) AS evaluation_return, s.env_id, s.num_envs, s.num_steps
FROM runs JOIN settings s ON s.cell_id = runs.cell_id
WHERE runs.status = 'finished';
COMMIT;
