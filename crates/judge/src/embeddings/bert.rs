//! The encoder of a BERT model, for one text at a time: no padding, so no mask.

use candle_core::{DType, Device, Module as _, Result, Tensor};
use candle_nn::{
    Embedding, LayerNorm, Linear, VarBuilder, embedding, layer_norm, linear, ops::softmax_last_dim,
};

use super::folder::{Config, Pooling};

pub(super) struct Bert {
    words: Embedding,
    positions: Embedding,
    types: Embedding,
    norm: LayerNorm,
    layers: Vec<Layer>,
    heads: usize,
    pooling: Pooling,
}

struct Layer {
    query: Linear,
    key: Linear,
    value: Linear,
    attended: Linear,
    attended_norm: LayerNorm,
    wide: Linear,
    narrow: Linear,
    norm: LayerNorm,
}

impl Bert {
    pub(super) fn load(config: &Config, pooling: Pooling, weights: Vec<u8>) -> Result<Self> {
        let all = VarBuilder::from_buffered_safetensors(weights, DType::F32, &Device::Cpu)?;
        // Some files have the model in a box.
        let all =
            if all.contains_tensor("bert.embeddings.word_embeddings.weight") { all.pp("bert") } else { all };
        let (hidden, eps) = (config.hidden_size, config.layer_norm_eps);
        let begin = all.pp("embeddings");
        let layers = (0..config.num_hidden_layers)
            .map(|number| Layer::load(config, &all.pp(format!("encoder.layer.{number}"))))
            .collect::<Result<_>>()?;
        Ok(Self {
            words: embedding(config.vocab_size, hidden, begin.pp("word_embeddings"))?,
            positions: embedding(config.max_position_embeddings, hidden, begin.pp("position_embeddings"))?,
            types: embedding(config.type_vocab_size, hidden, begin.pp("token_type_embeddings"))?,
            norm: layer_norm(hidden, eps, begin.pp("LayerNorm"))?,
            layers,
            heads: config.num_attention_heads,
            pooling,
        })
    }

    /// Where the model puts a text: a direction, of length 1.
    pub(super) fn embed(&self, ids: &[u32]) -> Result<Vec<f32>> {
        let count = u32::try_from(ids.len()).map_err(candle_core::Error::wrap)?;
        let device = &Device::Cpu;
        let words = self.words.forward(&Tensor::new(ids, device)?)?;
        let positions = self.positions.forward(&Tensor::arange(0, count, device)?)?;
        let types = self.types.forward(&Tensor::zeros(ids.len(), DType::U32, device)?)?;
        let mut state = self.norm.forward(&((words + positions)? + types)?)?;
        for layer in &self.layers {
            state = layer.forward(&state, self.heads)?;
        }
        let pooled = match self.pooling {
            Pooling::Mean => state.mean(0)?,
            Pooling::Cls => state.get(0)?,
        };
        let length = pooled.sqr()?.sum_all()?.sqrt()?;
        pooled.broadcast_div(&length)?.to_vec1()
    }
}

impl Layer {
    fn load(config: &Config, all: &VarBuilder<'_>) -> Result<Self> {
        let (hidden, wide, eps) = (config.hidden_size, config.intermediate_size, config.layer_norm_eps);
        let attention = all.pp("attention");
        Ok(Self {
            query: linear(hidden, hidden, attention.pp("self.query"))?,
            key: linear(hidden, hidden, attention.pp("self.key"))?,
            value: linear(hidden, hidden, attention.pp("self.value"))?,
            attended: linear(hidden, hidden, attention.pp("output.dense"))?,
            attended_norm: layer_norm(hidden, eps, attention.pp("output.LayerNorm"))?,
            wide: linear(hidden, wide, all.pp("intermediate.dense"))?,
            narrow: linear(wide, hidden, all.pp("output.dense"))?,
            norm: layer_norm(hidden, eps, all.pp("output.LayerNorm"))?,
        })
    }

    /// `state` has a row for each token.
    fn forward(&self, state: &Tensor, heads: usize) -> Result<Tensor> {
        let (tokens, hidden) = state.dims2()?;
        let width = hidden / heads;
        let split = |part: Tensor| part.reshape((tokens, heads, width))?.transpose(0, 1)?.contiguous();
        let query = split(self.query.forward(state)?)?;
        let key = split(self.key.forward(state)?)?;
        let value = split(self.value.forward(state)?)?;
        #[expect(clippy::cast_precision_loss, reason = "a width is small")]
        let scale = 1.0 / (width as f64).sqrt();
        let weights = softmax_last_dim(&(query.matmul(&key.transpose(1, 2)?.contiguous()?)? * scale)?)?;
        let attended = weights.matmul(&value)?.transpose(0, 1)?.contiguous()?.reshape((tokens, hidden))?;
        let state = self.attended_norm.forward(&(self.attended.forward(&attended)? + state)?)?;
        let widened = self.wide.forward(&state)?.gelu_erf()?;
        self.norm.forward(&(self.narrow.forward(&widened)? + state)?)
    }
}
